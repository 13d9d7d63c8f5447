/* Loads pixels from many places one by one, which takes a third of the time of gathers (Zen 5), if the addresses were
   stored long enough before: store forwarding works only for loads of the stored width. */

#pragma once

#include <stdint.h>

#if defined(__AVX2__)
#include <immintrin.h>

/* Load eight bytes each from places k and l. */
static inline __m128i two_pairs(const uint8_t *from, const int32_t *at, int k, int l) {
    __m128i one = _mm_loadl_epi64((const __m128i *)(const void *)(from + at[k]));
    return _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(one), (const double *)(const void *)(from + at[l])));
}

/* The same from places k, k + 1 and l, l + 1. */
static inline __m256i four_pairs(const uint8_t *from, const int32_t *at, int k, int l) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(two_pairs(from, at, k, k + 1)), two_pairs(from, at, l, l + 1), 1);
}
#endif

#if defined(__AVX512F__)
/* The same from eight places, `apart` from one to the next. */
static inline __m512i eight_pairs(const uint8_t *from, const int32_t *at, int apart) {
    __m256i low = _mm256_castsi128_si256(two_pairs(from, at, 0, apart));
    __m256i high = _mm256_castsi128_si256(two_pairs(from, at, 4 * apart, 5 * apart));
    low = _mm256_inserti128_si256(low, two_pairs(from, at, 2 * apart, 3 * apart), 1);
    high = _mm256_inserti128_si256(high, two_pairs(from, at, 6 * apart, 7 * apart), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
#endif

/* Look up a table, four entries at a time: loads and stores take two thirds of the time of a gather. The empty asm
   prevents compilers from assembling vectors from single words. */
#define ALONE __asm__ volatile("")
#define LOOK_UP(type, table, at, count, to)                                                                              \
    do {                                                                                                                 \
        int64_t k_ = 0;                                                                                                  \
        for (; k_ + 4 <= (count); k_ += 4) {                                                                             \
            type one_ = (table)[(at)[k_]], two_ = (table)[(at)[k_ + 1]];                                                 \
            type three_ = (table)[(at)[k_ + 2]], four_ = (table)[(at)[k_ + 3]];                                          \
            ALONE; (to)[k_] = one_;                                                                                      \
            ALONE; (to)[k_ + 1] = two_;                                                                                  \
            ALONE; (to)[k_ + 2] = three_;                                                                                \
            ALONE; (to)[k_ + 3] = four_;                                                                                 \
        }                                                                                                                \
        for (; k_ < (count); k_++)                                                                                       \
            (to)[k_] = (table)[(at)[k_]];                                                                                \
    } while (0)
