/* Images that are sampled: what lies beyond their borders, and how they are read once before. */

#pragma once

#include "kernels.h"

enum { MOST_BEFORE = 2000 }; /* columns or rows of a border before an image that a job is told of */

/* Border modes, as OpenCV numbers them. */
enum { BORDER_CONSTANT = 0, BORDER_REPLICATE = 1, BORDER_REFLECT = 2, BORDER_WRAP = 3, BORDER_REFLECT_101 = 4 };
enum { WARP_AFFINE = 0, WARP_PERSPECTIVE = 1, WARP_MAPS = 2 }; /* how `warp` is told where pixels are taken from */
enum { LINE = 64, NEAR = 3 << 19 }; /* bytes that processors read at once, and that they have at hand */
enum { GAUSSIAN_WIDTH = 448 }; /* numbers of a row in the workspace of `gaussian` */

/* An image that is sampled; `end`: bytes from its first to behind its last pixel. */
typedef struct {
    const uint8_t *pixels;
    int32_t rows, columns, step, end, channels, border;
    uint32_t fill;
} Source;

/* How a border folds a coordinate back that lies no further outside than the image is long: it is multiplied, and what is
   added to one before the image, and to one behind it. Those of a constant border lie on the edge. */
typedef struct {
    int32_t times, before, behind;
} Fold;

static inline Fold fold_of(int32_t n, int32_t border) {
    int32_t edge = border == BORDER_REFLECT_101;
    if (border == BORDER_WRAP)
        return (Fold){1, n, -n};
    return border >= BORDER_REFLECT ? (Fold){-1, edge - 1, 2 * n - 1 - edge} : (Fold){0, 0, n - 1};
}

/* A coordinate that may lie outside of 0..n-1, as the border folds it back; -1 where a constant stands there. */
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

/* `count` bytes of a row from `left` on as numbers, with `reach` pixels before them and behind, mirrored at the borders. */
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

/* Read some bytes of a row line by line: gathering from memory that is far away takes twice as long. */
static inline void bring_row(const uint8_t *row, int64_t from, int64_t to) {
    const volatile uint8_t *read = row; /* what is volatile is read indeed */
    for (int64_t x = from; x < to; x += LINE - (int64_t)((uintptr_t)(row + x) % LINE))
        (void)read[x];
}

/* Ask for some bytes of a row that will be read soon. A call that is not inlined has no effect that compilers see, and
   they leave it out. */
static inline __attribute__((always_inline)) void ask_for(const uint8_t *row, int64_t from, int64_t to) {
    for (int64_t x = from; x < to; x += LINE - (int64_t)((uintptr_t)(row + x) % LINE))
        ASK(row + x, 2);
}

/* Rows of memory that will be read after what is written now: so many bytes of each, `step` bytes apart. */
typedef struct {
    const uint8_t *at;
    int64_t step, rows, bytes;
} Ahead;

/* Ask for one of them with each row that is written, so that the one waits for memory while the other works: asked for
   all at once they would wait for each other. */
static inline __attribute__((always_inline)) void ask_beside(const Ahead *ahead, int64_t y, int64_t height) {
    const int64_t rows = ahead ? ahead->rows : 0, end = y + 1 < height ? MIN(y + 1, rows) : rows; /* at last all */
    for (int64_t row = y; row < end; row++)
        ask_for(ahead->at + row * ahead->step, 0, ahead->bytes);
}
