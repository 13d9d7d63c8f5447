/* Bilinear interpolation in integers: horizontal weights have 7 bits and give levels in 1/128, vertical weights have
   8 bits and give levels; by multiply-add of byte pairs (pmaddubsw, pmaddwd) where the processor has it.

   Blocks that touch the border have a path of their own, in which corners are folded back or filled; all others load
   pairs of neighbouring pixels in place (loads.h).

   Bits: integers, the same on every instruction set: tests/laws/job_in_numpy.py defines them.
   Law: tests/laws/test_kernels.py (rows `fused`, `bend`), tests/laws/test_jobs.py. */

#pragma once

#include <string.h>

#include "loads.h"
#include "places.h"

/* The corners and weights of a block of places. */
typedef struct {
    /* Where the upper and the lower two corners of each place begin, in bytes from `upper` and `lower`. */
    _Alignas(64) int32_t above[BLOCK];
    _Alignas(64) int32_t below[BLOCK];
    /* x: 128 - across in the lower byte, across in the upper one; y: down times 128. The last 8 are padding, since
       eight are loaded from any index. */
    _Alignas(64) uint16_t x[BLOCK + 8];
    _Alignas(64) int16_t y[BLOCK + 8];
    const uint8_t *upper, *lower;
} Weights;

#if defined(__AVX2__)

/* Interpolate pixels k, k + 1 and k + 4, k + 5 to 16-bit levels, four a pixel. */
static inline __m256i four_pixels(const Weights *w, int k) {
    const __m256i beside = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 3, 1, 4, 2, 5, -1, -1, 8, 11, 9, 12, 10, 13, -1, -1));
    const __m256i each = _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, /* weights of k and k + 1 */
                                          8, 9, 8, 9, 8, 9, 8, 9, 10, 11, 10, 11, 10, 11, 10, 11);
    const __m256i sign = _mm256_set1_epi8(-128), half = _mm256_set1_epi16((1 << 14) + (1 << 6));
    __m256i x = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(w->x + k)));
    __m256i y = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(w->y + k)));
    x = _mm256_shuffle_epi8(x, each), y = _mm256_shuffle_epi8(y, each);
    __m256i top = _mm256_xor_si256(_mm256_shuffle_epi8(four_pairs(w->upper, w->above, k, k + 4), beside), sign);
    __m256i bottom = _mm256_xor_si256(_mm256_shuffle_epi8(four_pairs(w->lower, w->below, k, k + 4), beside), sign);
    top = _mm256_maddubs_epi16(x, top), bottom = _mm256_maddubs_epi16(x, bottom);
    bottom = _mm256_mulhrs_epi16(_mm256_sub_epi16(bottom, top), y);
    return _mm256_srli_epi16(_mm256_add_epi16(_mm256_add_epi16(top, half), bottom), 7);
}

/* Store eight pixels of four bytes as three planes. */
static inline void store_eight(__m256i pixels, uint8_t *to, int64_t stride) {
    const __m256i apart = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    pixels = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(pixels, apart), order);
    __m128i red_green = _mm256_castsi256_si128(pixels);
    _mm_storel_epi64((__m128i *)(void *)to, red_green);
    _mm_storel_epi64((__m128i *)(void *)(to + stride), _mm_unpackhi_epi64(red_green, red_green));
    _mm_storel_epi64((__m128i *)(void *)(to + 2 * stride), _mm256_extracti128_si256(pixels, 1));
}

/* Interpolate a block of three channels into planes that are `stride` bytes apart. */
static inline void mix_three(const Weights *w, uint8_t *to, int64_t stride) {
    for (int k = 0; k < BLOCK; k += 8)
        store_eight(_mm256_packus_epi16(four_pixels(w, k), four_pixels(w, k + 2)), to + k, stride);
}

#endif

/* Interpolate a block, one channel after another. */
static inline void mix(const Weights *w, int channels, uint8_t *to, int64_t stride) {
    for (int c = 0; c < channels; c++) {
        uint8_t corners[4][BLOCK];
        for (int i = 0; i < BLOCK; i++) {
            const uint8_t *one = w->upper + w->above[i] + c, *two = w->lower + w->below[i] + c;
            corners[0][i] = one[0], corners[1][i] = one[channels];
            corners[2][i] = two[0], corners[3][i] = two[channels];
        }
        for (int i = 0; i < BLOCK; i++) {
            uint16_t left = w->x[i] & 255, right = w->x[i] >> 8;
            int16_t top = (int16_t)(corners[0][i] * left + corners[1][i] * right);
            int16_t bottom = (int16_t)(corners[2][i] * left + corners[3][i] * right);
            int32_t more = ((bottom - top) * w->y[i] + (1 << 14)) >> 15;
            to[c * stride + i] = (uint8_t)((top + more + (1 << 6)) >> 7);
        }
    }
}

/* Read the pixels at coordinates inside the image as words, whose upper bytes may be those of the next pixel; -1
   gives the fill. */
static inline void read_pixels(const Source *s, const int32_t *x, const int32_t *y, uint32_t *to) {
    int32_t last = s->end - 4;
#if defined(__AVX2__)
    for (int i = 0; i < BLOCK && last >= 0; i += 8) {
        __m256i xs = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
        __m256i ys = _mm256_loadu_si256((const __m256i *)(const void *)(y + i));
        __m256i beyond = _mm256_srai_epi32(_mm256_or_si256(xs, ys), 31);
        __m256i at = _mm256_add_epi32(_mm256_mullo_epi32(ys, _mm256_set1_epi32(s->step)),
                                      _mm256_mullo_epi32(xs, _mm256_set1_epi32(s->channels)));
        at = _mm256_andnot_si256(beyond, at);
        /* near the end, load the last word of the image and shift it */
        __m256i near = _mm256_min_epi32(at, _mm256_set1_epi32(last));
        __m256i words = _mm256_i32gather_epi32((const int *)(const void *)s->pixels, near, 1);
        words = _mm256_srlv_epi32(words, _mm256_slli_epi32(_mm256_sub_epi32(at, near), 3));
        words = _mm256_blendv_epi8(words, _mm256_set1_epi32((int32_t)s->fill), beyond);
        _mm256_storeu_si256((__m256i *)(void *)(to + i), words);
    }
    if (last >= 0)
        return;
#endif
    for (int i = 0; i < BLOCK; i++) {
        int64_t at = (int64_t)y[i] * s->step + (int64_t)x[i] * s->channels;
        to[i] = (x[i] | y[i]) < 0 ? s->fill : 0;
        if ((x[i] | y[i]) >= 0 && at <= last)
            memcpy(&to[i], s->pixels + at, 4);
        else
            for (int c = 0; c < s->channels && (x[i] | y[i]) >= 0; c++)
                to[i] |= (uint32_t)s->pixels[at + c] << 8 * c;
    }
}

/* Gather the four corners of each place through the border mode, in the order in which an image has them. */
static __attribute__((noinline)) void fold_corners(const Source *s, const int32_t *x, const int32_t *y, uint64_t *above, uint64_t *below) {
    int32_t xs[2][BLOCK], ys[2][BLOCK], bits = 8 * s->channels;
    uint32_t words[4][BLOCK], seen = s->channels == 3 ? 0xffffff : 0xff;
    for (int k = 0; k < 2; k++) {
        fold_block(x, k, s->columns, s->border, xs[k]);
        fold_block(y, k, s->rows, s->border, ys[k]);
    }
    for (int k = 0; k < 4; k++)
        read_pixels(s, xs[k % 2], ys[k / 2], words[k]);
    for (int i = 0; i < BLOCK; i++) {
        above[i] = (words[0][i] & seen) | (uint64_t)words[1][i] << bits;
        below[i] = (words[2][i] & seen) | (uint64_t)words[3][i] << bits;
    }
}

/* The same for borders that repeat or mirror: both corners of a row are then neighbours, or one pixel, and are read
   in place. False if they are not. */
static __attribute__((noinline)) int turn_back(const Source *s, const int32_t *x, const int32_t *y, Weights *w) {
    int32_t xs[2][BLOCK], ys[2][BLOCK], strays = 0;
    if (s->border == BORDER_CONSTANT || s->border == BORDER_WRAP || s->columns < 2)
        return 0;
    for (int k = 0; k < 2; k++) {
        fold_block(x, k, s->columns, s->border, xs[k]);
        fold_block(y, k, s->rows, s->border, ys[k]);
    }
    for (int i = 0; i < BLOCK; i++) {
        int32_t one = xs[0][i], two = xs[1][i], left = MIN(one, two), across = w->x[i] >> 8;
        across = one > two ? 128 - across : across;
        across = one == two ? 0 : across;
        across = left == s->columns - 1 ? 128 : across, left -= left == s->columns - 1;
        w->x[i] = (uint16_t)(128 - across + (across << 8));
        w->above[i] = ys[0][i] * s->step + left * s->channels;
        w->below[i] = ys[1][i] * s->step + left * s->channels;
        strays |= (w->above[i] > s->end - 8) | (w->below[i] > s->end - 8);
    }
    w->upper = w->lower = s->pixels;
    return !strays;
}

/* Find the corners and weights of a block. */
static inline void weigh(const Source *s, const int32_t *u, const int32_t *v, int32_t *xs, int32_t *ys, Weights *w) {
    for (int i = 0; i < BLOCK; i++) {
        int32_t across = u[i] >> 9 & 127;
        xs[i] = u[i] >> 16, ys[i] = v[i] >> 16;
        w->x[i] = (uint16_t)(128 - across + (across << 8));
        w->y[i] = (int16_t)((v[i] & 0xff00) >> 1);
        w->above[i] = (int32_t)((uint32_t)ys[i] * (uint32_t)s->step + (uint32_t)(xs[i] * s->channels));
        w->below[i] = w->above[i];
    }
}

#if defined(__AVX512BW__)
/* Interpolate every second pixel of a block of three channels to 16-bit levels, four a pixel. x: the horizontal
   weights, negated, because 128 fits into a signed byte only as -128. */
static inline __m512i eight_pixels(const Source *s, const int32_t *at, __m512i x, __m512i y) {
    const __m512i beside = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 3, 1, 4, 2, 5, -1, -1, 8, 11, 9, 12, 10, 13, -1, -1));
    __m512i top = eight_pairs(s->pixels, at, 2), bottom = eight_pairs(s->pixels + s->step, at, 2);
    top = _mm512_maddubs_epi16(_mm512_shuffle_epi8(top, beside), x);
    bottom = _mm512_maddubs_epi16(_mm512_shuffle_epi8(bottom, beside), x);
    bottom = _mm512_mulhrs_epi16(_mm512_sub_epi16(top, bottom), y);
    return _mm512_mulhrs_epi16(_mm512_sub_epi16(bottom, top), _mm512_set1_epi16(1 << 8));
}

/* Interpolate a block of three channels that is inside the image: its even pixels, then its odd ones. */
static inline void inside_three(const Source *s, const int32_t *us, const int32_t *vs, const int32_t *at, uint8_t *to,
                                int64_t stride) {
    const __m512i even = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 8, 9, 8, 9, 8, 9, 8, 9));
    const __m512i odd = _mm512_broadcast_i32x4(_mm_setr_epi8(4, 5, 4, 5, 4, 5, 4, 5, 12, 13, 12, 13, 12, 13, 12, 13));
    const __m512i apart = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i one = _mm512_set1_epi32(1 << 16);
    __m512i u = _mm512_loadu_si512(us), v = _mm512_loadu_si512(vs);
    /* 128 - 255 across; 128 down */
    __m512i x = _mm512_ternarylogic_epi32(_mm512_srli_epi32(u, 9), _mm512_set1_epi32(127), one, 0xea);
    x = _mm512_madd_epi16(x, _mm512_set1_epi32((128 << 16) + (uint16_t)-255));
    __m512i y = _mm512_and_si512(_mm512_srli_epi32(v, 1), _mm512_set1_epi32(0x7f80));
    __m512i evens = eight_pixels(s, at, _mm512_shuffle_epi8(x, even), _mm512_shuffle_epi8(y, even));
    __m512i odds = eight_pixels(s, at + 1, _mm512_shuffle_epi8(x, odd), _mm512_shuffle_epi8(y, odd));
    u = _mm512_permutexvar_epi32(order, _mm512_shuffle_epi8(_mm512_packus_epi16(evens, odds), apart));
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_castsi512_si128(u));
    _mm_storeu_si128((__m128i *)(void *)(to + stride), _mm512_extracti32x4_epi32(u, 1));
    _mm_storeu_si128((__m128i *)(void *)(to + 2 * stride), _mm512_extracti32x4_epi32(u, 2));
}
#endif

/* Interpolate any block by way of a table of corners in memory. */
static inline void sample_apart(const Source *s, const int32_t *u, const int32_t *v, int inside, uint8_t *to,
                                int64_t stride) {
    Weights w;
    _Alignas(64) int32_t xs[BLOCK];
    _Alignas(64) int32_t ys[BLOCK];
    uint64_t folded[2][BLOCK];
    weigh(s, u, v, xs, ys, &w);
    w.upper = s->pixels, w.lower = s->pixels + s->step;
    if (!inside && !turn_back(s, xs, ys, &w)) {
        for (int i = 0; i < BLOCK; i++) {
            int32_t across = u[i] >> 9 & 127;
            w.x[i] = (uint16_t)(128 - across + (across << 8));
            w.above[i] = w.below[i] = 8 * i;
        }
        fold_corners(s, xs, ys, folded[0], folded[1]);
        w.upper = (const uint8_t *)folded[0], w.lower = (const uint8_t *)folded[1];
    }
#if defined(__AVX2__)
    if (s->channels == 3) {
        mix_three(&w, to, stride);
        return;
    }
#endif
    mix(&w, s->channels, to, stride);
}

/* Whether any place of a block is before the first pixel, or at pixel `end` or later. */
static inline int stray(const int32_t *at, int32_t end) {
    uint32_t least = (uint32_t)MAX(end, 0) << 16, beyond = 0; /* the smallest one outside; unsigned, negative ones are larger */
#if defined(__AVX2__)
    for (int i = 0; i < BLOCK; i += 8) {
        __m256i here = _mm256_loadu_si256((const __m256i *)(const void *)(at + i));
        __m256i more = _mm256_max_epu32(here, _mm256_set1_epi32((int32_t)least));
        beyond |= (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi32(more, here));
    }
#else
    for (int i = 0; i < BLOCK; i++)
        beyond |= (uint32_t)at[i] >= least;
#endif
    return beyond != 0;
}

/* The range of pixels in which the places of a block are. */
static inline void ends(const int32_t *at, int32_t *low, int32_t *high) {
    int32_t least = at[0], most = at[0];
    for (int i = 1; i < BLOCK; i++)
        least = MIN(least, at[i]), most = MAX(most, at[i]);
    *low = least >> 16, *high = most >> 16;
}

/* Interpolate a block that is partly or wholly outside the image. */
static __attribute__((noinline)) void sample_beyond(const Source *s, const int32_t *u, const int32_t *v, uint8_t *to,
                                                    int64_t stride) {
    int32_t left, right, top, bottom;
    ends(u, &left, &right), ends(v, &top, &bottom);
    if (s->border == BORDER_CONSTANT && (right < -1 || bottom < -1 || left >= s->columns || top >= s->rows))
        for (int c = 0; c < s->channels; c++)
            memset(to + c * stride, (int)(s->fill >> 8 * c & 255), BLOCK);
    else
        sample_apart(s, u, v, 0, to, stride);
}

enum { SPAN = 16 }; /* blocks whose addresses are stored before any is loaded: see loads.h */

/* Interpolate up to SPAN blocks of places into planes that are `stride` bytes apart. */
static inline void sample(const Source *s, const int32_t *restrict u, const int32_t *restrict v, int64_t blocks, uint8_t *to,
                          int64_t stride) {
    int beyond[SPAN];
#if defined(__AVX512BW__)
    _Alignas(64) int32_t at[SPAN * BLOCK];
    for (int64_t i = 0; i < blocks * BLOCK && s->channels == COLOURS; i++)
        at[i] = (int32_t)((uint32_t)(v[i] >> 16) * (uint32_t)s->step + (uint32_t)(u[i] >> 16) * COLOURS);
#endif
    for (int64_t k = 0; k < blocks; k++) /* eight bytes of two rows are read, beyond the last corner */
        beyond[k] = stray(u + k * BLOCK, s->columns - 1) | stray(v + k * BLOCK, s->rows - 2);
    for (int64_t k = 0; k < blocks; k++, u += BLOCK, v += BLOCK, to += BLOCK)
        if (beyond[k])
            sample_beyond(s, u, v, to, stride);
#if defined(__AVX512BW__)
        else if (s->channels == COLOURS)
            inside_three(s, u, v, at + k * BLOCK, to, stride);
#endif
        else
            sample_apart(s, u, v, 1, to, stride);
}
