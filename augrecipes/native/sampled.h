/* Sampled images: border modes, and reading ahead of them into the cache. */

#pragma once

#include "kernels.h"

enum { MOST_BEFORE = 2000 }; /* the most columns or rows of a border that may precede the image of a job */

/* Border modes, as OpenCV numbers them. */
enum { BORDER_CONSTANT = 0, BORDER_REPLICATE = 1, BORDER_REFLECT = 2, BORDER_WRAP = 3, BORDER_REFLECT_101 = 4 };
enum { WARP_AFFINE = 0, WARP_PERSPECTIVE = 1, WARP_MAPS = 2 }; /* how the source places of `warp` are given */
enum { LINE = 64, NEAR = 3 << 19 }; /* bytes of a cache line, and of the part of the cache that a warp may fill */
enum { GAUSSIAN_WIDTH = 448 }; /* floats of a row in the workspace of `gaussian` */

/* A sampled image; `end`: its size in bytes, gaps between rows included. */
typedef struct {
    const uint8_t *pixels;
    int32_t rows, columns, step, end, channels, border;
    uint32_t fill;
} Source;

/* How a border folds back a coordinate that is no further outside than the image is long: times a factor, plus an
   offset that depends on the side. A constant border gives the edge. */
typedef struct {
    int32_t times, before, behind;
} Fold;

static inline Fold fold_of(int32_t n, int32_t border) {
    int32_t edge = border == BORDER_REFLECT_101;
    if (border == BORDER_WRAP)
        return (Fold){1, n, -n};
    return border >= BORDER_REFLECT ? (Fold){-1, edge - 1, 2 * n - 1 - edge} : (Fold){0, 0, n - 1};
}

/* Fold a coordinate outside of 0..n-1 back into the image; -1 if the border is a constant. */
static inline int32_t fold(int32_t at, int32_t n, int32_t border) {
    if ((uint32_t)at < (uint32_t)n)
        return at;
    if (border == BORDER_CONSTANT)
        return -1;
    if (border == BORDER_REPLICATE || n == 1)
        return at < 0 ? 0 : n - 1;
    int32_t edge = border == BORDER_REFLECT_101, period = border == BORDER_WRAP ? n : 2 * (n - edge);
    at %= period;
    at = at < 0 ? at + period : at;
    return at < n ? at : period - 1 + edge - at;
}

/* Convert `count` bytes of a row, from `left` on, to floats, with `reach` pixels before and after them, mirrored at
   the borders. */
static inline void take_mirrored(const uint8_t *restrict row, int64_t left, int64_t count, int64_t columns, int64_t channels,
                                 int64_t reach, float *restrict to) {
    int64_t first = left / channels - reach, pixels = count / channels + 2 * reach;
    int64_t before = MIN(MAX(-first, 0), pixels), inside = MAX(MIN(columns - first, pixels), before);
    const uint8_t *from = row + first * channels;
    for (int64_t i = before * channels; i < inside * channels; i++)
        to[i] = from[i];
    for (int64_t x = before ? 0 : inside; x < pixels; x = x + 1 == before ? inside : x + 1) {
        const uint8_t *pixel = row + fold((int32_t)(first + x), (int32_t)columns, BORDER_REFLECT_101) * channels;
        for (int64_t c = 0; c < channels; c++)
            to[x * channels + c] = pixel[c];
    }
}

/* Read a part of a row into the cache, line by line: gathers from memory that is not cached take twice as long. */
static inline void touch_row(const uint8_t *row, int64_t from, int64_t to) {
    const volatile uint8_t *read = row; /* volatile, so that the reads are not optimised away */
    for (int64_t x = from; x < to; x += LINE - (int64_t)((uintptr_t)(row + x) % LINE))
        (void)read[x];
}

/* Prefetch a part of a row. Not inlined, the function would have no effect visible to compilers, and they would drop
   its calls. */
static inline __attribute__((always_inline)) void prefetch_bytes(const uint8_t *row, int64_t from, int64_t to) {
    for (int64_t x = from; x < to; x += LINE - (int64_t)((uintptr_t)(row + x) % LINE))
        PREFETCH(row + x, 2);
}

/* Memory to prefetch while something is written: so many bytes of each row, `step` bytes apart. */
typedef struct {
    const uint8_t *at;
    int64_t step, rows, bytes;
} Ahead;

/* Prefetch one row with each row that is written, so that loads and work overlap: all prefetches at once would wait
   for each other. */
static inline __attribute__((always_inline)) void prefetch_row(const Ahead *ahead, int64_t y, int64_t height) {
    const int64_t rows = ahead ? ahead->rows : 0, end = y + 1 < height ? MIN(y + 1, rows) : rows; /* at last the rest */
    for (int64_t row = y; row < end; row++)
        prefetch_bytes(ahead->at + row * ahead->step, 0, ahead->bytes);
}
