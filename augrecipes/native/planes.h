/* Pixels of three colours apart into planes, some at a time, and together again. */

#pragma once

#include "kernels.h"
#include "ops.h"

#if defined(__SSSE3__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

enum { ACROSS = 256 };

#if defined(__SSSE3__)
#define SIXTEEN(of, a, b) \
    {of(a, b, 0), of(a, b, 1), of(a, b, 2), of(a, b, 3), of(a, b, 4), of(a, b, 5), of(a, b, 6), of(a, b, 7), of(a, b, 8), \
     of(a, b, 9), of(a, b, 10), of(a, b, 11), of(a, b, 12), of(a, b, 13), of(a, b, 14), of(a, b, 15)}
#define THREE(of, a) {SIXTEEN(of, a, 0), SIXTEEN(of, a, 1), SIXTEEN(of, a, 2)}

/* Byte k of part `part` of 48 is of colour n % 3 of pixel n / 3, n = 16 * part + k. What shuffles take: that pixel, where
   it is of colour c; where in a part pixel k has colour c; and that pixel for every colour. -1: a zero. */
#define PLACE_OF(part, c, k) (16 * (part) + (k)) % 3 == (c) ? (16 * (part) + (k)) / 3 : -1
#define PART_OF(c, part, k) (3 * (k) + (c)) / 16 == (part) ? (3 * (k) + (c)) % 16 : -1
#define THRICE_OF(unused, part, k) (16 * (part) + (k)) / 3
static const int8_t PLACES[3][COLOURS][16] = {THREE(PLACE_OF, 0), THREE(PLACE_OF, 1), THREE(PLACE_OF, 2)};
static const int8_t PARTS[COLOURS][3][16] = {THREE(PART_OF, 0), THREE(PART_OF, 1), THREE(PART_OF, 2)};
static const int8_t THRICE[3][16] = THREE(THRICE_OF, 0);

/* Sixteen pixels: byte k of a colour is that of pixel k, wherever in three times sixteen bytes it lies; or back to front. */
static inline void take_sixteen(const uint8_t *from, int64_t x, int64_t to, int back, uint8_t (*planes)[ACROSS]) {
    const __m128i backwards = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    for (int32_t c = 0; c < COLOURS; c++) {
        __m128i whole = _mm_setzero_si128();
        for (int32_t part = 0; part < 3; part++) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(from + 3 * x + 16 * part));
            __m128i places = _mm_loadu_si128((const __m128i *)PARTS[c][part]);
            whole = _mm_or_si128(whole, _mm_shuffle_epi8(bytes, places));
        }
        _mm_storeu_si128((__m128i *)(planes[c] + to), back ? _mm_shuffle_epi8(whole, backwards) : whole);
    }
}
#endif

/* back: the last pixel comes first. */
static inline __attribute__((always_inline)) void take_planes_of(const uint8_t *restrict from, int64_t count, int back,
                                                                 uint8_t (*restrict planes)[ACROSS]) {
    int64_t x = 0;
#if defined(__SSSE3__)
    for (; x + 16 <= count; x += 16)
        take_sixteen(from, back ? count - 16 - x : x, x, back, planes);
    if (x < count && count >= 16) /* the last ones once more, with some before them */
        take_sixteen(from, back ? 0 : count - 16, count - 16, back, planes), x = count;
#endif
    for (; x < count; x++)
        for (int32_t c = 0; c < COLOURS; c++)
            planes[c][x] = from[3 * (back ? count - 1 - x : x) + c];
}

static inline void take_apart(const uint8_t *restrict from, int64_t count, uint8_t (*restrict planes)[ACROSS]) {
    take_planes_of(from, count, 0, planes);
}

static inline void take_apart_backwards(const uint8_t *restrict from, int64_t count, uint8_t (*restrict planes)[ACROSS]) {
    take_planes_of(from, count, 1, planes);
}

static inline void put_together(uint8_t (*restrict planes)[ACROSS], int64_t count, uint8_t *restrict to) {
    int64_t x = 0;
#if defined(__SSSE3__)
    for (; x + 16 <= count; x += 16)
        for (int32_t part = 0; part < 3; part++) {
            __m128i whole = _mm_setzero_si128();
            for (int32_t c = 0; c < COLOURS; c++) {
                __m128i plane = _mm_loadu_si128((const __m128i *)(planes[c] + x));
                __m128i places = _mm_loadu_si128((const __m128i *)PLACES[part][c]);
                whole = _mm_or_si128(whole, _mm_shuffle_epi8(plane, places));
            }
            _mm_storeu_si128((__m128i *)(to + 3 * x + 16 * part), whole);
        }
#elif defined(__ARM_NEON)
    for (; x + 16 <= count; x += 16) {
        uint8x16x3_t pixels = {{vld1q_u8(planes[0] + x), vld1q_u8(planes[1] + x), vld1q_u8(planes[2] + x)}};
        vst3q_u8(to + 3 * x, pixels);
    }
#endif
    for (; x < count; x++) {
        to[3 * x] = planes[0][x];
        to[3 * x + 1] = planes[1][x];
        to[3 * x + 2] = planes[2][x];
    }
}
