/* Nearest-neighbour resize of images and labels: OpenCV's choice of the pixel (INTER_NEAREST), or the one at the
   middle.

   compiler/kernels/resize_native.py leaves to OpenCV what this refuses. */

#include <math.h>
#include <string.h>

#include "windows.h"

enum { ACROSS = 512, BYTES = 32 };

/* The pixel, of `size`, that stands for pixel `to` of `count`: the one at its first corner, or in its middle. */
static inline int64_t place(int64_t to, int64_t size, int64_t count, int middle) {
    double scale = 1.0 / ((double)count / (double)size);
    int64_t at = middle ? (2 * to + 1) * size / (2 * count) : (int64_t)floor((double)to * scale);
    return MIN(at, size - 1);
}

static inline void pick(const uint8_t *restrict row, const int32_t *restrict at, int64_t count, int bytes,
                        uint8_t *restrict to) {
    for (int64_t x = 0; x < count; x++)
        memcpy(to + x * bytes, row + at[x], bytes);
}

/* source:  rows x columns pixels of some bytes; step: bytes from row to row
   tall, wide: of the whole result
   target:  a window of it, height x width pixels, whose first one is at row top, column left; step_to: bytes from row
            to row */
static inline int32_t picked(const uint8_t *source, int64_t rows, int64_t columns, int64_t step, int32_t bytes,
                             int64_t tall, int64_t wide, uint8_t *target, int64_t top, int64_t left, int64_t height,
                             int64_t width, int64_t step_to, int middle) {
    if (bytes < 1 || bytes > BYTES || !is_window(rows, columns, tall, wide, top, left, height, width))
        return REFUSED;
    int32_t at[ACROSS];
    for (int64_t x = 0; x < width; x += ACROSS) {
        int64_t count = MIN(ACROSS, width - x), held = -1;
        for (int64_t i = 0; i < count; i++)
            at[i] = (int32_t)(place(left + x + i, columns, wide, middle) * bytes);
        for (int64_t y = 0; y < height; y++) {
            int64_t row = place(top + y, rows, tall, middle);
            const uint8_t *from = source + row * step;
            uint8_t *to = target + y * step_to + x * bytes;
            if (row == held) /* as the one above it */
                memcpy(to, to - step_to, count * bytes);
            else switch (bytes) {
                case 1: pick(from, at, count, 1, to); break;
                case 2: pick(from, at, count, 2, to); break;
                case 3: pick(from, at, count, 3, to); break;
                case 4: pick(from, at, count, 4, to); break;
                case 8: pick(from, at, count, 8, to); break;
                case 12: pick(from, at, count, 12, to); break;
                default: pick(from, at, count, bytes, to);
                }
            held = row;
        }
    }
    return DONE;
}

KERNEL(nearest)(const uint8_t *source, int64_t rows, int64_t columns, int64_t step, int32_t bytes, int64_t tall,
                int64_t wide, uint8_t *target, int64_t top, int64_t left, int64_t height, int64_t width,
                int64_t step_to) {
    return picked(source, rows, columns, step, bytes, tall, wide, target, top, left, height, width, step_to, 0);
}

/* The same by the middles of pixels, of two that are as near the later one: `nearest` of ops/places.py. */
KERNEL(nearest_middle)(const uint8_t *source, int64_t rows, int64_t columns, int64_t step, int32_t bytes, int64_t tall,
                       int64_t wide, uint8_t *target, int64_t top, int64_t left, int64_t height, int64_t width,
                       int64_t step_to) {
    return picked(source, rows, columns, step, bytes, tall, wide, target, top, left, height, width, step_to, 1);
}
