/* Copies the pixels of a rotated, mirrored or cropped view in row order, for which numpy works value by value.

   Used by compiler/kernels/deep_steps.py. */

#include <string.h>

#include "kernels.h"

enum { TILE = 16, MOST_BYTES = 128 }; /* TILE: pixels of a side; MOST_BYTES: of a pixel */

static inline __attribute__((always_inline)) void copy_tile(const uint8_t *from, int64_t row, int64_t pixel, int64_t height,
                                                            int64_t width, int64_t bytes, uint8_t *to, int64_t down) {
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            memcpy(to + y * down + x * bytes, from + y * row + x * pixel, (size_t)bytes);
}

/* Sizes for which the compiler unrolls the copy: one to four channels of one, two or four bytes. */
#define KNOWN(n)                                                                                                       \
    case n:                                                                                                            \
        copy_tile(from, row, pixel, tall, wide, n, at, down);                                                          \
        break;

/* Copy a view.

   image: the first of height x width pixels; row, pixel: bytes from one to the next; bytes: of a pixel
   to:    height x width x bytes */
KERNEL(copy_pixels)(const uint8_t *image, int64_t row, int64_t pixel, int64_t height, int64_t width, int64_t bytes,
                    uint8_t *to) {
    const int64_t down = width * bytes, strip = pixel > MOST_BYTES || -pixel > MOST_BYTES ? TILE : width;
    if (height < 1 || width < 1 || bytes < 1 || bytes > MOST_BYTES)
        return REFUSED;
    for (int64_t y = 0; y < height; y += TILE)
        for (int64_t x = 0; x < width; x += strip) {
            const uint8_t *from = image + y * row + x * pixel;
            uint8_t *at = to + y * down + x * bytes;
            const int64_t tall = MIN(TILE, height - y), wide = MIN(strip, width - x);
            switch (bytes) {
                KNOWN(1) KNOWN(2) KNOWN(3) KNOWN(4) KNOWN(6) KNOWN(8) KNOWN(12) KNOWN(16)
            default:
                copy_tile(from, row, pixel, tall, wide, bytes, at, down);
            }
        }
    return DONE;
}
