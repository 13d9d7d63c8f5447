/* Pictures made smaller by the mean of the area under each pixel: OpenCV's arithmetic in float32, without fused steps.

   Beside compiler/kernels/resize_native.py, which leaves to OpenCV what this refuses. */

#include <math.h>
#include <string.h>

#include "windows.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { ACROSS = 256 };

typedef float Pixel __attribute__((vector_size(16)));

/* What one row, or column, of the result is made of: `count` of the picture from `first` on, and what they weigh. */
typedef struct {
    int32_t first, count;
    float before, whole, behind;
} Share;

/* Of pixel `at` of the result, each `scale` wide, of a picture `size` wide. */
static Share share_of(int64_t at, double scale, int64_t size) {
    double begin = (double)at * scale, end = begin + scale, width = MIN(scale, (double)size - begin);
    int64_t one = (int64_t)ceil(begin), two = (int64_t)floor(end);
    two = MIN(two, size - 1);
    one = MIN(one, two);
    Share s = {(int32_t)one, (int32_t)(two - one), 0, (float)(1.0 / width), 0};
    s.before = s.behind = s.whole;
    if ((double)one - begin > 1e-3) {
        s.first--, s.count++;
        s.before = (float)(((double)one - begin) / width);
    }
    if (end - (double)two > 1e-3) {
        s.count++;
        s.behind = (float)(MIN(MIN(end - (double)two, 1.0), width) / width);
    }
    return s;
}

/* A pixel as floats; of three channels the fourth is whatever comes after them, or nothing. */
static inline Pixel pixel(const uint8_t *at, int bytes) {
    uint32_t word = 0;
    memcpy(&word, at, bytes);
#if defined(__AVX2__)
    return (Pixel)_mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_cvtsi32_si128((int32_t)word)));
#else
    return (Pixel){(float)(word & 255), (float)(word >> 8 & 255), (float)(word >> 16 & 255), (float)(word >> 24)};
#endif
}

/* One row of the picture as sums over columns; `bytes` of each pixel are read. */
static inline void sum_columns(const Share *shares, int64_t count, const uint8_t *row, int channels, int bytes,
                               Pixel *restrict to) {
    for (int64_t x = 0; x < count; x++) {
        const Share *s = &shares[x];
        const uint8_t *at = row + (int64_t)s->first * channels, *last = at + (s->count - 1) * channels;
        Pixel sum = pixel(at, bytes) * s->before;
        for (at += channels; at < last; at += channels)
            sum += pixel(at, bytes) * s->whole;
        if (at == last)
            sum += pixel(at, bytes) * s->behind;
        to[x] = sum;
    }
}

/* `first`: which row of the whole result the first of `height` rows is, each `scale` rows of the picture high. */
static inline void shrink_columns(const uint8_t *source, int64_t rows, int64_t columns, int64_t step, int channels,
                                  const Share *shares, int64_t count, uint8_t *target, int64_t first, int64_t height,
                                  double scale, int64_t step_to) {
    Pixel sums[ACROSS], row[ACROSS];
    const uint8_t *end = source + (rows - 1) * step + columns * channels;
    for (int64_t y = 0; y < height; y++) {
        Share s = share_of(first + y, scale, rows);
        for (int32_t k = 0; k < s.count; k++) {
            float beta = k == 0 ? s.before : k == s.count - 1 ? s.behind : s.whole;
            const uint8_t *from = source + (s.first + k) * step;
            if (channels == 4 || from + columns * channels < end)
                sum_columns(shares, count, from, channels, 4, row);
            else
                sum_columns(shares, count, from, channels, 3, row);
            for (int64_t x = 0; x < count; x++)
                sums[x] = k ? sums[x] + row[x] * beta : row[x] * beta;
        }
        for (int64_t x = 0; x < count; x++)
            for (int c = 0; c < channels; c++)
                target[y * step_to + x * channels + c] = (uint8_t)MIN(MAX((int32_t)rintf(sums[x][c]), 0), 255);
    }
}

/* source:  rows x columns x channels of uint8, channels 3 or 4; step: bytes from row to row
   tall, wide: of the whole result, neither larger
   target:  a window of it, height x width x channels, whose first pixel is at row top, column left; step_to: bytes from
            row to row */
KERNEL(shrink)(const uint8_t *source, int64_t rows, int64_t columns, int64_t step, int32_t channels, int64_t tall,
               int64_t wide, uint8_t *target, int64_t top, int64_t left, int64_t height, int64_t width,
               int64_t step_to) {
    if ((channels != 3 && channels != 4) || tall > rows || wide > columns ||
        !is_window(rows, columns, tall, wide, top, left, height, width))
        return REFUSED;
    double down = 1.0 / ((double)tall / (double)rows), across = 1.0 / ((double)wide / (double)columns);
    Share shares[ACROSS];
    for (int64_t x = 0; x < width; x += ACROSS) {
        int64_t count = MIN(ACROSS, width - x);
        for (int64_t i = 0; i < count; i++)
            shares[i] = share_of(left + x + i, across, columns);
        if (channels == 3)
            shrink_columns(source, rows, columns, step, 3, shares, count, target + x * 3, top, height, down, step_to);
        else
            shrink_columns(source, rows, columns, step, 4, shares, count, target + x * 4, top, height, down, step_to);
    }
    return DONE;
}
