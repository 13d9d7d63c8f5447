/* Pixels between pixels, in whole numbers: 7 bits across and 8 down, rounded once. */

#ifndef AUGRECIPES_BETWEEN_H
#define AUGRECIPES_BETWEEN_H

#include "places.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* Where a block's pixels lie between pixels: in 1/128 across and 1/256 down. */
typedef struct {
    int32_t at[BLOCK];  /* bytes from where the upper two pixels of each begin */
    uint16_t x[BLOCK + 8]; /* 128 - across, and across in the upper byte; and room to read eight from any of them */
    uint32_t y[BLOCK];  /* 256 - down, and down in the upper half */
} Weights;

#if defined(__AVX2__)

/* Eight bytes each of places k, k + 1 and l, l + 1. */
static inline __m256i four_pairs(const uint8_t *from, const int32_t *at, int k, int l) {
    __m128i one = _mm_loadl_epi64((const __m128i *)(from + at[k]));
    __m128i two = _mm_loadl_epi64((const __m128i *)(from + at[l]));
    one = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(one), (const double *)(const void *)(from + at[k + 1])));
    two = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(two), (const double *)(const void *)(from + at[l + 1])));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(one), two, 1);
}

/* Pixels k, k + 1 and k + 4, k + 5 as 16-bit levels, four to a pixel. */
static inline __m256i four_pixels(const uint8_t *above, const uint8_t *below, const Weights *w, int k) {
    const __m256i beside = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 3, 1, 4, 2, 5, -1, -1, 8, 11, 9, 12, 10, 13, -1, -1));
    const __m256i x_of = _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, /* of k and k + 1 */
                                          8, 9, 8, 9, 8, 9, 8, 9, 10, 11, 10, 11, 10, 11, 10, 11);
    const __m256i sign = _mm256_set1_epi8(-128), half = _mm256_set1_epi32((1 << 14) + (1 << 22));
    __m256i x = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(w->x + k)));
    x = _mm256_shuffle_epi8(x, x_of);
    __m256i top = _mm256_xor_si256(_mm256_shuffle_epi8(four_pairs(above, w->at, k, k + 4), beside), sign);
    __m256i bottom = _mm256_xor_si256(_mm256_shuffle_epi8(four_pairs(below, w->at, k, k + 4), beside), sign);
    top = _mm256_maddubs_epi16(x, top), bottom = _mm256_maddubs_epi16(x, bottom);
    __m256i y = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)(w->y + k))),
                                        _mm_loadl_epi64((const __m128i *)(w->y + k + 4)), 1);
    __m256i even = _mm256_madd_epi16(_mm256_unpacklo_epi16(top, bottom), _mm256_shuffle_epi32(y, 0x00));
    __m256i odd = _mm256_madd_epi16(_mm256_unpackhi_epi16(top, bottom), _mm256_shuffle_epi32(y, 0x55));
    even = _mm256_srai_epi32(_mm256_add_epi32(even, half), 15);
    odd = _mm256_srai_epi32(_mm256_add_epi32(odd, half), 15);
    return _mm256_packs_epi32(even, odd);
}

/* A block of three channels, into planes that lie `stride` apart. */
static inline void mix_three(const uint8_t *above, const uint8_t *below, const Weights *w, uint8_t *to, int64_t stride) {
    const __m256i apart = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (int k = 0; k < BLOCK; k += 8, to += 8) {
        __m256i one = four_pixels(above, below, w, k), two = four_pixels(above, below, w, k + 2);
        __m256i eight = _mm256_shuffle_epi8(_mm256_packus_epi16(one, two), apart);
        eight = _mm256_permutevar8x32_epi32(eight, order);
        __m128i red_green = _mm256_castsi256_si128(eight);
        _mm_storel_epi64((__m128i *)to, red_green);
        _mm_storeh_pd((double *)(void *)(to + stride), _mm_castsi128_pd(red_green));
        _mm_storel_epi64((__m128i *)(to + 2 * stride), _mm256_extracti128_si256(eight, 1));
    }
}

#endif

/* A block of any channels, one after another. */
static inline void mix(const uint8_t *above, const uint8_t *below, const Weights *w, int channels, uint8_t *to,
                       int64_t stride) {
    for (int c = 0; c < channels; c++) {
        uint8_t corners[4][BLOCK];
        for (int i = 0; i < BLOCK; i++) {
            const uint8_t *one = above + w->at[i] + c, *two = below + w->at[i] + c;
            corners[0][i] = one[0], corners[1][i] = one[channels];
            corners[2][i] = two[0], corners[3][i] = two[channels];
        }
        for (int i = 0; i < BLOCK; i++) {
            uint16_t left = w->x[i] & 255, right = w->x[i] >> 8;
            int16_t top = (int16_t)(corners[0][i] * left + corners[1][i] * right);
            int16_t bottom = (int16_t)(corners[2][i] * left + corners[3][i] * right);
            int32_t sum = top * (int16_t)(w->y[i] & 0xffff) + bottom * (int16_t)(w->y[i] >> 16);
            to[c * stride + i] = (uint8_t)((sum + (1 << 14)) >> 15);
        }
    }
}

static inline uint64_t pixel_at(const Source *s, int32_t x, int32_t y) {
    if (x < 0 || y < 0)
        return s->fill;
    int64_t at = (int64_t)y * s->step + (int64_t)x * s->channels;
    uint32_t word = 0;
    if (s->channels == 3 && at + 4 <= s->end) {
        memcpy(&word, s->pixels + at, 4);
        return word & 0xffffff;
    }
    for (int c = 0; c < s->channels; c++)
        word |= (uint32_t)s->pixels[at + c] << 8 * c;
    return word;
}

/* The four pixels around each place, where the border folds them to, as they would lie in a picture. */
static inline void fold_corners(const Source *s, const int32_t *x, const int32_t *y, uint64_t *above, uint64_t *below) {
    int32_t xs[2][BLOCK], ys[2][BLOCK], bits = 8 * s->channels;
    for (int k = 0; k < 2; k++) {
        fold_block(x, k, s->columns, s->border, xs[k]);
        fold_block(y, k, s->rows, s->border, ys[k]);
    }
    for (int i = 0; i < BLOCK; i++) {
        above[i] = pixel_at(s, xs[0][i], ys[0][i]) | pixel_at(s, xs[1][i], ys[0][i]) << bits;
        below[i] = pixel_at(s, xs[0][i], ys[1][i]) | pixel_at(s, xs[1][i], ys[1][i]) << bits;
    }
}

/* A block of pixels from their places, into planes that lie `stride` apart. */
static inline void sample(const Source *s, const int32_t *u, const int32_t *v, uint8_t *to, int64_t stride) {
    Weights w;
    int32_t xs[BLOCK], ys[BLOCK], outside = 0, beyond = s->end - s->step - 8;
    for (int i = 0; i < BLOCK; i++) {
        int32_t x = u[i] + 256, y = v[i] + 128, across = x >> 9 & 127, down = y >> 8 & 255;
        xs[i] = x >> 16, ys[i] = y >> 16;
        w.x[i] = (uint16_t)(128 - across + (across << 8));
        w.y[i] = (uint32_t)(256 - down + (down << 16));
        w.at[i] = (int32_t)((uint32_t)ys[i] * (uint32_t)s->step + (uint32_t)(xs[i] * s->channels));
        outside |= ((uint32_t)xs[i] >= (uint32_t)(s->columns - 1)) | ((uint32_t)ys[i] >= (uint32_t)(s->rows - 1)) |
                   (w.at[i] > beyond);
    }
    uint64_t folded[2][BLOCK];
    const uint8_t *above = s->pixels, *below = s->pixels + s->step;
    if (outside) {
        fold_corners(s, xs, ys, folded[0], folded[1]);
        for (int i = 0; i < BLOCK; i++)
            w.at[i] = 8 * i;
        above = (const uint8_t *)folded[0], below = (const uint8_t *)folded[1];
    }
#if defined(__AVX2__)
    if (s->channels == 3) {
        mix_three(above, below, &w, to, stride);
        return;
    }
#endif
    mix(above, below, &w, s->channels, to, stride);
}

#endif
