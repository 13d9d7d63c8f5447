/* Nearest-neighbour resize of images and labels: the pixel that OpenCV picks (INTER_NEAREST), or the one at the
   centre.

   compiler/kernels/opencv_bits.py leaves to OpenCV what this kernel refuses. */

#include <math.h>
#include <string.h>

#include "windows.h"

enum { ACROSS = 512, BYTES = 32 };

/* The source pixel, of `size`, for pixel `to` of `count`: at its first corner, or at its centre. */
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

/* Pick the pixels of a window; pixels have up to BYTES bytes, given as channels. */
static inline int32_t pick_window(const Resizing *r, int middle) {
    const int64_t bytes = r->channels;
    if (bytes < 1 || bytes > BYTES)
        return REFUSED;
    int32_t at[ACROSS];
    for (int64_t x = 0; x < r->width; x += ACROSS) {
        int64_t count = MIN(ACROSS, r->width - x), last = -1;
        for (int64_t i = 0; i < count; i++)
            at[i] = (int32_t)(place(r->left + x + i, r->columns, r->wide, middle) * bytes);
        for (int64_t y = 0; y < r->height; y++) {
            int64_t row = place(r->top + y, r->rows, r->tall, middle);
            const uint8_t *from = r->source + row * r->step;
            uint8_t *to = r->target + y * r->step_to + x * bytes;
            if (row == last) /* the same as the row above */
                memcpy(to, to - r->step_to, (size_t)(count * bytes));
            else if (bytes <= 4)
                CALL_WITH(bytes, pick(from, at, count, N, to))
            else if (bytes % 4 == 0 && bytes <= 4 * 4)
                CALL_WITH(bytes / 4, pick(from, at, count, 4 * N, to))
            else
                pick(from, at, count, (int)bytes, to);
            last = row;
        }
    }
    return DONE;
}

RESIZE(nearest) { return pick_window(r, 0); }

/* By the centres of pixels, of two at the same distance the later one: `nearest` of ops/places.py. */
RESIZE(nearest_middle) { return pick_window(r, 1); }
