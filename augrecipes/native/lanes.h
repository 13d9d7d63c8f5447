/* Vectors as wide as the registers of an instruction set, by compiler extensions, and operations for which these have
   no operator. */

#pragma once

#include <math.h>
#include <string.h>

#include "loads.h"
#include "registers.h"

#if defined(__AVX512F__)
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif

typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));
typedef uint8_t Bytes __attribute__((vector_size(LANES)));

/* a * b + c, rounded once. */
static inline Floats fuse(Floats a, Floats b, Floats c) {
    return ON_X86((Floats)X86(fmadd_ps)((FloatRegister)a, (FloatRegister)b, (FloatRegister)c), EACH(fmaf(a[i], b[i], c[i])));
}

static inline Floats times_add(Floats a, Floats b, Floats c, int fused) { return fused ? fuse(a, b, c) : a * b + c; }

/* Load numbers. */
static inline Floats some(const float *from) {
    Floats numbers;
    memcpy(&numbers, from, sizeof numbers);
    return numbers;
}

static inline Floats floors(Floats a) { return ON_X86((Floats)X86(floor_ps)((FloatRegister)a), EACH(floorf(a[i]))); }

/* Round to integers, half to even. */
static inline Ints nearest(Floats a) {
    return ON_X86((Ints)X86(cvtps_epi32)((FloatRegister)a), __builtin_convertvector(EACH(rintf(a[i])), Ints));
}

/* `one` where a comparison holds, `other` elsewhere. */
static inline Floats choose(Ints holds, Floats one, Floats other) {
    return (Floats)((holds & (Ints)one) | (~holds & (Ints)other));
}

LANEWISE(Floats, FloatRegister, lesser, min_ps, choose(a < b, a, b))
LANEWISE(Floats, FloatRegister, greater, max_ps, choose(a > b, a, b))

/* Convert bytes to integers, and back; the integers are within 0..255. */
static inline Ints from_bytes(const uint8_t *from) {
    ON_X86(__m128i bytes = {0}, Bytes bytes);
    memcpy(&bytes, from, LANES);
    return ON_X86((Ints)X86(cvtepu8_epi32)(bytes), __builtin_convertvector(bytes, Ints)); /* GCC converts slowly */
}

static inline void to_bytes(Ints a, uint8_t *to) {
#if defined(__AVX512F__)
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8((__m512i)a));
#elif defined(__AVX2__)
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)a), _mm256_extracti128_si256((__m256i)a, 1));
    _mm_storel_epi64((__m128i *)to, _mm_packus_epi16(words, words));
#else
    for (int i = 0; i < LANES; i++)
        to[i] = (uint8_t)a[i];
#endif
}

/* Truncate to integers. */
static inline Ints truncated(Floats a) { return __builtin_convertvector(a, Ints); }

static inline Floats floats(Ints a) { return __builtin_convertvector(a, Floats); }

/* A bit for each lane in which a comparison holds; and whether it holds in any. */
static inline uint32_t bits_of(Ints a) {
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)a, (__m512i)a);
#elif defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps((__m256)a);
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)a[i] & 1u << i;
    return bits;
#endif
}

static inline int any(Ints a) { return bits_of(a) != 0; }

/* Gather four bytes from each place. */
static inline Words gather(const uint8_t *from, Ints at) {
#if defined(__AVX512F__)
    return (Words)_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), 0xffff, (__m512i)at, from, 1);
#elif defined(__AVX2__)
    return (Words)_mm256_i32gather_epi32((const int *)from, (__m256i)at, 1);
#else
    Words words;
    for (int i = 0; i < LANES; i++) {
        uint32_t word;
        memcpy(&word, from + at[i], 4);
        words[i] = word;
    }
    return words;
#endif
}

/* Load eight bytes from each place: the first four, and the four from byte `second` on; see loads.h. */
static inline void pairs_at(const uint8_t *from, const int32_t *at, int second, Words *one, Words *two) {
#if defined(__AVX512F__)
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512i low = eight_pairs(from, at, 1), high = eight_pairs(from, at + 8, 1);
    *one = (Words)_mm512_permutex2var_epi32(low, even, high);
    low = _mm512_srli_epi64(low, 8 * second), high = _mm512_srli_epi64(high, 8 * second);
    *two = (Words)_mm512_permutex2var_epi32(low, even, high);
#elif defined(__AVX2__)
    /* In lanes 0, 1, 4, 5 and 2, 3, 6, 7, so that a shuffle within halves puts them in order. */
    __m256i low = four_pairs(from, at, 0, 4), high = four_pairs(from, at, 2, 6);
    *one = (Words)_mm256_shuffle_ps((__m256)low, (__m256)high, 0x88);
    low = _mm256_srli_epi64(low, 8 * second), high = _mm256_srli_epi64(high, 8 * second);
    *two = (Words)_mm256_shuffle_ps((__m256)low, (__m256)high, 0x88);
#else
    for (int i = 0; i < LANES; i++) {
        uint32_t word;
        memcpy(&word, from + at[i], 4);
        (*one)[i] = word;
        memcpy(&word, from + at[i] + second, 4);
        (*two)[i] = word;
    }
#endif
}

/* Store the first `channels` bytes of the first `count` words without gaps. */
static inline void store_pixels(Words words, int64_t count, int channels, uint8_t *to) {
#if defined(__AVX512F__)
    __m512i bytes = (__m512i)words;
    if (channels == 3) {
        const __m512i close = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0));
        const __m512i three = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0);
        bytes = _mm512_permutexvar_epi32(three, _mm512_shuffle_epi8(bytes, close));
    } else if (channels == 1)
        bytes = _mm512_castsi128_si512(_mm512_cvtepi32_epi8(bytes));
    else if (channels == 2)
        bytes = _mm512_castsi256_si512(_mm512_cvtepi32_epi16(bytes));
    if (channels == 3 && count == LANES) { /* in two parts: a masked store is slower */
        _mm256_storeu_si256((__m256i *)(void *)to, _mm512_castsi512_si256(bytes));
        _mm_storeu_si128((__m128i *)(void *)(to + 32), _mm512_extracti32x4_epi32(bytes, 2));
        return;
    }
    uint64_t all = channels * count == 64 ? ~0ULL : (1ULL << channels * count) - 1;
    _mm512_mask_storeu_epi8(to, all, bytes);
#else
    if (channels == 4 && count == LANES) {
        memcpy(to, &words, sizeof words);
        return;
    }
#if defined(__AVX2__)
    if (channels == 3 && count == LANES) {
        const __m256i close = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0));
        __m256i bytes = _mm256_shuffle_epi8((__m256i)words, close);
        bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 0, 0));
        _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(bytes));
        _mm_storel_epi64((__m128i *)(to + 16), _mm256_extracti128_si256(bytes, 1));
        return;
    }
#endif
    for (int64_t i = 0; i < count; i++)
        for (int c = 0; c < channels; c++)
            to[i * channels + c] = (uint8_t)(words[i] >> 8 * c);
#endif
}
