/* Pixels of three colours apart into planes, some at a time, and together again. */

#ifndef AUGRECIPES_PLANES_H
#define AUGRECIPES_PLANES_H

#include "kernels.h"

#if defined(__SSSE3__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

enum { ACROSS = 256, COLOURS = 3 };

#if defined(__SSSE3__)
static const int8_t PLACES[3][COLOURS][16] = {
    {{0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1, 5},
     {-1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1, -1},
     {-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1}},
    {{-1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10, -1},
     {5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1, 10},
     {-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, 8, -1, -1, 9, -1, -1}},
    {{-1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1, -1},
     {-1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15, -1},
     {10, -1, -1, 11, -1, -1, 12, -1, -1, 13, -1, -1, 14, -1, -1, 15}},
};
static const int8_t PARTS[COLOURS][3][16] = {
    {{0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13}},
    {{1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14}},
    {{2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1},
     {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15}},
};
static const int8_t THRICE[COLOURS][16] = {
    {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5},
    {5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10},
    {10, 11, 11, 11, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15},
};

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
    /* Byte k of 48 is that of colour k % 3 of pixel k / 3; an index of -1 gives zero. */
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

#endif
