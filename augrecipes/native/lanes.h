/* Vectors of the widest registers of an instruction set, as compilers know them, and what they have no sign for. */

#ifndef AUGRECIPES_LANES_H
#define AUGRECIPES_LANES_H

#include <math.h>
#include <string.h>

#include "kernels.h"
#include "loads.h"

#if defined(__AVX512F__)
#include <immintrin.h>
enum { LANES = 16 };
#elif defined(__AVX2__)
#include <immintrin.h>
enum { LANES = 8 };
#else
enum { LANES = 8 };
#endif

typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));

/* a * b + c, rounded once. */
static inline Floats fuse(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
    return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
    return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    for (int i = 0; i < LANES; i++)
        c[i] = fmaf(a[i], b[i], c[i]);
    return c;
#endif
}

static inline Floats times_add(Floats a, Floats b, Floats c, int fused) { return fused ? fuse(a, b, c) : a * b + c; }

/* Numbers from an address on. */
static inline Floats some(const float *from) {
    Floats made;
    memcpy(&made, from, sizeof made);
    return made;
}

static inline Floats floors(Floats a) {
#if defined(__AVX512F__)
    return (Floats)_mm512_roundscale_ps((__m512)a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
    return (Floats)_mm256_floor_ps((__m256)a);
#else
    for (int i = 0; i < LANES; i++)
        a[i] = floorf(a[i]);
    return a;
#endif
}

/* The nearest whole numbers, halves to the even one. */
static inline Ints nearest(Floats a) {
#if defined(__AVX512F__)
    return (Ints)_mm512_cvtps_epi32((__m512)a);
#elif defined(__AVX2__)
    return (Ints)_mm256_cvtps_epi32((__m256)a);
#else
    Ints made;
    for (int i = 0; i < LANES; i++)
        made[i] = (int32_t)rintf(a[i]);
    return made;
#endif
}

/* One number where a comparison holds, and the other elsewhere. */
static inline Floats choose(Ints holds, Floats one, Floats other) {
    return (Floats)((holds & (Ints)one) | (~holds & (Ints)other));
}

/* The lesser and the greater of two, lane by lane. */
#if defined(__AVX512F__)
static inline Floats lesser(Floats a, Floats b) { return (Floats)_mm512_min_ps((__m512)a, (__m512)b); }
static inline Floats greater(Floats a, Floats b) { return (Floats)_mm512_max_ps((__m512)a, (__m512)b); }
#elif defined(__AVX2__)
static inline Floats lesser(Floats a, Floats b) { return (Floats)_mm256_min_ps((__m256)a, (__m256)b); }
static inline Floats greater(Floats a, Floats b) { return (Floats)_mm256_max_ps((__m256)a, (__m256)b); }
#else
static inline Floats lesser(Floats a, Floats b) { return choose(a < b, a, b); }
static inline Floats greater(Floats a, Floats b) { return choose(a > b, a, b); }
#endif

/* Whether any lane of a comparison holds. */
static inline int any(Ints a) {
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)a, (__m512i)a) != 0;
#elif defined(__AVX2__)
    return !_mm256_testz_si256((__m256i)a, (__m256i)a);
#else
    int32_t found = 0;
    for (int i = 0; i < LANES; i++)
        found |= a[i];
    return found != 0;
#endif
}

/* Bytes as whole numbers, and back: those are within 0..255. */
static inline Ints from_bytes(const uint8_t *from) {
#if defined(__AVX512F__)
    return (Ints)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)from));
#elif defined(__AVX2__)
    return (Ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from));
#else
    Ints made;
    for (int i = 0; i < LANES; i++)
        made[i] = from[i];
    return made;
#endif
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

/* Numbers without their fractions. */
static inline Ints truncated(Floats a) { return __builtin_convertvector(a, Ints); }

static inline Floats floats(Ints a) { return __builtin_convertvector(a, Floats); }

/* A bit for each lane in which a comparison holds. */
static inline uint32_t bits_of(Ints a) {
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)a, (__m512i)a);
#elif defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps((__m256)a);
#else
    uint32_t found = 0;
    for (int i = 0; i < LANES; i++)
        found |= (uint32_t)a[i] & 1u << i;
    return found;
#endif
}

/* Four bytes from each place on. */
static inline Words gather(const uint8_t *from, Ints at) {
#if defined(__AVX512F__)
    return (Words)_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), 0xffff, (__m512i)at, from, 1);
#elif defined(__AVX2__)
    return (Words)_mm256_i32gather_epi32((const int *)from, (__m256i)at, 1);
#else
    Words made;
    for (int i = 0; i < LANES; i++) {
        uint32_t word;
        memcpy(&word, from + at[i], 4);
        made[i] = word;
    }
    return made;
#endif
}

/* Of the eight bytes from each place on, the four from byte 0 on, and the four from byte `second` on; see loads.h. */
static inline void pairs_at(const uint8_t *from, const int32_t *at, int second, Words *one, Words *two) {
#if defined(__AVX512F__)
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512i low = eight_pairs(from, at, 1), high = eight_pairs(from, at + 8, 1);
    *one = (Words)_mm512_permutex2var_epi32(low, even, high);
    low = _mm512_srli_epi64(low, 8 * second), high = _mm512_srli_epi64(high, 8 * second);
    *two = (Words)_mm512_permutex2var_epi32(low, even, high);
#elif defined(__AVX2__)
    /* Lanes 0, 1, 4, 5 and 2, 3, 6, 7: so a shuffle within halves puts them in order. */
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

/* The first `channels` bytes of the first `count` words, side by side. */
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
    if (channels == 3 && count == LANES) { /* in two parts: a store by a mask takes longer */
        _mm256_storeu_si256((__m256i *)(void *)to, _mm512_castsi512_si256(bytes));
        _mm_storeu_si128((__m128i *)(void *)(to + 32), _mm512_extracti32x4_epi32(bytes, 2));
        return;
    }
    uint64_t all = channels * count == 64 ? ~0ULL : (1ULL << channels * count) - 1;
    _mm512_mask_storeu_epi8(to, all, bytes);
#else
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

#endif
