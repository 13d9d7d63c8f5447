/* Bytes looked up in tables of 256, many at once where the processor has a way. */

#ifndef AUGRECIPES_LOOK_UP_H
#define AUGRECIPES_LOOK_UP_H

#include <string.h>

#include "kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif


#if defined(__AVX512BW__)

/* Whether the processor shuffles bytes of whole registers: see machine.c. */
extern int32_t ar_shuffles_bytes;

/* The bytes of four registers' worth of a table. */
__attribute__((target("avx512vbmi"))) static inline __m512i shuffled_bytes(const __m512i *table, __m512i bytes) {
    __m512i low = _mm512_permutex2var_epi8(table[0], bytes, table[1]);
    __m512i high = _mm512_permutex2var_epi8(table[2], bytes, table[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high);
}

__attribute__((target("avx512vbmi"))) static int64_t look_up_in_registers(const uint8_t *from, int64_t length,
                                                                          const uint8_t *levels, uint8_t *to) {
    __m512i table[4];
    int64_t x = 0;
    for (int k = 0; k < 4; k++)
        table[k] = _mm512_loadu_si512(levels + 64 * k);
    for (; x + 64 <= length; x += 64)
        _mm512_storeu_si512(to + x, shuffled_bytes(table, _mm512_loadu_si512(from + x)));
    return x;
}

/* The same in three tables by turns. */
__attribute__((target("avx512vbmi"))) static int64_t look_up_three(const uint8_t *from, int64_t length,
                                                                   const uint8_t (*levels)[LEVELS], uint8_t *to) {
    __m512i table[3][4];
    int64_t x = 0;
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 4; k++)
            table[c][k] = _mm512_loadu_si512(levels[c] + 64 * k);
    for (; x + 192 <= length; x += 192)
        for (int k = 0; k < 3; k++) { /* register k begins with the colour k: 64 is one more than a multiple of 3 */
            const uint64_t next = 0x2492492492492492u, last = 0x4924924924924924u; /* where the others lie in it */
            __m512i bytes = _mm512_loadu_si512(from + x + 64 * k), made = shuffled_bytes(table[k], bytes);
            made = _mm512_mask_mov_epi8(made, next, shuffled_bytes(table[(k + 1) % 3], bytes));
            made = _mm512_mask_mov_epi8(made, last, shuffled_bytes(table[(k + 2) % 3], bytes));
            _mm512_storeu_si512(to + x + 64 * k, made);
        }
    return x;
}

/* How many of `length` bytes, from the first on, are looked up many at once in one table. */
static inline int64_t look_up_some(const uint8_t *from, int64_t length, const uint8_t *levels, uint8_t *to) {
    if (ar_shuffles_bytes)
        return look_up_in_registers(from, length, levels, to);
    __m512i table[16];
    int64_t x = 0;
    for (int k = 0; k < 16; k++)
        table[k] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(levels + 16 * k)));
    for (; x + 64 <= length; x += 64) {
        __m512i bytes = _mm512_loadu_si512(from + x), made = _mm512_setzero_si512();
        __m512i row = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), _mm512_set1_epi8(15));
        for (int k = 0; k < 16; k++) {
            __mmask64 here = _mm512_cmpeq_epi8_mask(row, _mm512_set1_epi8((char)k));
            made = _mm512_mask_shuffle_epi8(made, here, table[k], _mm512_and_si512(bytes, _mm512_set1_epi8(15)));
        }
        _mm512_storeu_si512(to + x, made);
    }
    return x;
}

#elif defined(__AVX2__)

/* A table as 32 bytes at a time are looked up in it. Each row of sixteen levels holds, of an exclusive or, what it adds
   to those before it: a shuffle gives nothing where an index is negative. */
static inline void rows_of_levels(const uint8_t *levels, __m256i *table) {
    for (int k = 0; k < 16; k++) {
        __m128i row = _mm_loadu_si128((const __m128i *)(levels + 16 * k));
        if (k % 8)
            row = _mm_xor_si128(row, _mm_loadu_si128((const __m128i *)(levels + 16 * k - 16)));
        table[k] = _mm256_broadcastsi128_si256(row);
    }
}

static inline __attribute__((always_inline)) __m256i looked_up(const __m256i *table, __m256i bytes) {
    __m256i low = _mm256_setzero_si256(), high = low, at = _mm256_and_si256(bytes, _mm256_set1_epi8(127));
    for (int k = 0; k < 8; k++) {
        low = _mm256_xor_si256(low, _mm256_shuffle_epi8(table[k], at));
        high = _mm256_xor_si256(high, _mm256_shuffle_epi8(table[8 + k], at));
        at = _mm256_sub_epi8(at, _mm256_set1_epi8(16));
    }
    return _mm256_blendv_epi8(low, high, bytes);
}

static inline int64_t look_up_some(const uint8_t *from, int64_t length, const uint8_t *levels, uint8_t *to) {
    __m256i table[16];
    int64_t x = 0;
    rows_of_levels(levels, table);
    for (; x + 32 <= length; x += 32)
        _mm256_storeu_si256((__m256i *)(to + x), looked_up(table, _mm256_loadu_si256((const __m256i *)(from + x))));
    return x;
}

/* The same in three tables by turns. */
static inline int64_t look_up_three(const uint8_t *from, int64_t length, const uint8_t (*levels)[LEVELS], uint8_t *to) {
    __m256i table[3][16], next, last;
    uint8_t turns[2][32];
    int64_t x = 0;
    for (int c = 0; c < 3; c++)
        rows_of_levels(levels[c], table[c]);
    for (int i = 0; i < 32; i++)
        turns[0][i] = i % 3 == 1 ? 255 : 0, turns[1][i] = i % 3 == 2 ? 255 : 0;
    next = _mm256_loadu_si256((const __m256i *)turns[0]), last = _mm256_loadu_si256((const __m256i *)turns[1]);
    for (; x + 96 <= length; x += 96)
        for (int k = 0; k < 3; k++) { /* register k begins with the colour 2 k: 32 is two more than a multiple of 3 */
            __m256i bytes = _mm256_loadu_si256((const __m256i *)(from + x + 32 * k));
            __m256i made = looked_up(table[2 * k % 3], bytes);
            made = _mm256_blendv_epi8(made, looked_up(table[(2 * k + 1) % 3], bytes), next);
            made = _mm256_blendv_epi8(made, looked_up(table[(2 * k + 2) % 3], bytes), last);
            _mm256_storeu_si256((__m256i *)(to + x + 32 * k), made);
        }
    return x;
}

#else

static inline int64_t look_up_some(const uint8_t *from, int64_t length, const uint8_t *levels, uint8_t *to) {
    (void)from, (void)length, (void)levels, (void)to;
    return 0;
}

#endif

enum { TOGETHER = 96, PART = 32 }; /* bytes that are worked on together: of three channels the same each time */
typedef uint8_t Part __attribute__((vector_size(PART)));

/* Where each table keeps every level, turns them all round, or makes one of them: how many bytes are done so, else 0. */
static inline int64_t masked(const uint8_t *from, int64_t length, int64_t channels, const uint8_t (*levels)[LEVELS],
                             int alike, uint8_t *to) {
    uint8_t keeps[TOGETHER], turns[TOGETHER];
    int64_t x = 0;
    if (!alike && channels != 3)
        return 0;
    for (int c = 0; c < 3; c++) {
        const uint8_t *table = levels[alike ? 0 : c];
        int kept = 1, one = 1;
        for (int k = 0; k < LEVELS; k++)
            kept &= (table[k] ^ table[0]) == k, one &= table[k] == table[0];
        if (!one && !(kept && (table[0] == 0 || table[0] == LEVELS - 1)))
            return 0;
        for (int i = c; i < TOGETHER; i += 3)
            keeps[i] = one ? 0 : LEVELS - 1, turns[i] = table[0];
    }
    Part keep[TOGETHER / PART], turn[TOGETHER / PART], some;
    memcpy(keep, keeps, TOGETHER), memcpy(turn, turns, TOGETHER);
    for (; x + TOGETHER <= length; x += TOGETHER)
        for (int k = 0; k < TOGETHER / PART; k++) {
            memcpy(&some, from + x + PART * k, PART);
            some = (some & keep[k]) ^ turn[k];
            memcpy(to + x + PART * k, &some, PART);
        }
    return x;
}

/* So many bytes, of as many channels by turns, each in its table; `alike`: all tables are one. `to` may be `from`. */
static inline void look_up(const uint8_t *from, int64_t length, int64_t channels, const uint8_t (*levels)[LEVELS],
                           int alike, uint8_t *to) {
    int64_t x = masked(from, length, channels, levels, alike, to);
    if (alike) {
        for (x += look_up_some(from + x, length - x, levels[0], to + x); x < length; x++)
            to[x] = levels[0][from[x]];
        return;
    }
#if defined(__AVX512BW__)
    if (channels == 3 && !x && ar_shuffles_bytes)
        x = look_up_three(from, length, levels, to);
#elif defined(__AVX2__)
    if (channels == 3 && !x)
        x = look_up_three(from, length, levels, to);
#endif
    for (; x < length; x += channels)
        for (int64_t c = 0; c < channels; c++)
            to[x + c] = levels[c][from[x + c]];
}

#endif
