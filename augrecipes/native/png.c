/* Reverses the filters of the rows of a PNG; for a window, only for what is above and to its left.

   images/png.py inflates the rows and interprets them; without kernels, Pillow does both. The filters are those of
   the PNG specification, chapter 9: from a row are subtracted its left neighbours, the row above, the mean of both,
   or the Paeth predictor. */

#include <string.h>

#include "kernels.h"

enum { NONE, SUB, UP, AVERAGE, PAETH };
enum { EIGHT = 8 };     /* bytes of the largest pixel; each pixel is loaded and stored as eight */
enum { MARGIN = 16 };   /* padding of a row in `workspace`, for stores of its last pixel */
enum { UNKNOWN = -2 };  /* the answer to an unknown filter */

typedef uint8_t Bytes __attribute__((vector_size(EIGHT)));
typedef int16_t Wide __attribute__((vector_size(2 * EIGHT)));

static inline Wide load(const uint8_t *at) {
    Bytes found;
    memcpy(&found, at, EIGHT);
    return __builtin_convertvector(found, Wide);
}

static inline void store(Wide pixel, uint8_t *at) {
    Bytes result = __builtin_convertvector(pixel, Bytes);
    memcpy(at, &result, EIGHT);
}

static inline Wide select(Wide mask, Wide one, Wide other) { return (one & mask) | (other & ~mask); }

static inline Wide size_of(Wide value) {
    Wide sign = value >> 15;
    return (value ^ sign) - sign;
}

static inline void sub(const uint8_t *row, int64_t size, int64_t pixel, uint8_t *to) {
    Wide left = {0};
    for (int64_t x = 0; x < size; x += pixel) {
        left = (left + load(row + x)) & 255;
        store(left, to + x);
    }
}

static inline void up(const uint8_t *restrict row, const uint8_t *restrict above, int64_t size, uint8_t *restrict to) {
    for (int64_t x = 0; x < size; x++)
        to[x] = (uint8_t)(row[x] + above[x]);
}

static inline void average(const uint8_t *row, const uint8_t *above, int64_t size, int64_t pixel, uint8_t *to) {
    Wide left = {0};
    for (int64_t x = 0; x < size; x += pixel) {
        left = (load(row + x) + ((left + load(above + x)) >> 1)) & 255;
        store(left, to + x);
    }
}

static inline void paeth(const uint8_t *row, const uint8_t *above, int64_t size, int64_t pixel, uint8_t *to) {
    Wide left = {0}, corner = {0};
    for (int64_t x = 0; x < size; x += pixel) {
        Wide over = load(above + x), of_left = over - corner, of_over = left - corner;
        Wide of_corner = size_of(of_left + of_over);
        of_left = size_of(of_left), of_over = size_of(of_over);
        Wide near = select(of_over <= of_corner, over, corner);
        near = select((of_left <= of_over) & (of_left <= of_corner), left, near);
        left = (load(row + x) + near) & 255;
        store(left, to + x);
        corner = over;
    }
}

/* Reverse the filter of a row; `pixel` is a compile-time constant. */
static inline void unfilter_pixels(int filter, const uint8_t *row, const uint8_t *above, int64_t size, int64_t pixel, uint8_t *to) {
    if (filter == SUB)
        sub(row, size, pixel, to);
    else if (filter == AVERAGE)
        average(row, above, size, pixel, to);
    else
        paeth(row, above, size, pixel, to);
}

static void unfilter_row(int filter, const uint8_t *row, const uint8_t *above, int64_t size, int64_t pixel, uint8_t *to) {
    if (filter == NONE)
        memcpy(to, row, (size_t)size);
    else if (filter == UP)
        up(row, above, size, to);
    else if (pixel <= 4)
        CALL_WITH(pixel, unfilter_pixels(filter, row, above, size, N, to))
    else
        CALL_WITH(pixel / 2, unfilter_pixels(filter, row, above, size, 2 * N, to))
}

/* Reverse the filters of some rows.

   rows:   `count` of them, each a byte with its filter and `size` bytes more
   pixel:  bytes of a pixel: 1, 2, 3, 4, 6 or 8
   first:  rows before the window, which are not written
   x0, x1: bytes of a row that are written, the end exclusive; multiples of `pixel`
   workspace: 3 (x1 + 16) bytes that stay from call to call; they begin with the previous row, at first with zeros
   target: rows of the window, `step` bytes apart */
KERNEL(png_rows)(const uint8_t *rows, int64_t count, int64_t size, int64_t pixel, int64_t first, int64_t x0, int64_t x1,
                 uint8_t *workspace, uint8_t *target, int64_t step) {
    if (count < 1 || x0 < 0 || x0 >= x1 || x1 > size || first < 0 || pixel < 1 || pixel > EIGHT || pixel == 5 ||
        pixel == 7 || x0 % pixel || x1 % pixel)
        return REFUSED;
    int64_t begin = 0, stride = size + 1;
    for (int64_t y = 0; y < count; y++) {
        uint8_t filter = rows[y * stride];
        if (filter > PAETH)
            return UNKNOWN;
        if (filter <= SUB && y <= first)
            begin = y; /* does not depend on rows above */
    }
    uint8_t *above = workspace, *to = workspace + x1 + MARGIN, *padded = to + x1 + MARGIN;
    for (int64_t y = begin; y < count; y++) {
        const uint8_t *row = rows + y * stride + 1;
        uint8_t filter = row[-1];
        if (x1 + EIGHT > (count - y) * stride - 1) /* so that nothing is read after the last row */
            row = memcpy(padded, row, (size_t)x1);
        unfilter_row(filter, row, above, x1, pixel, to);
        if (y >= first)
            memcpy(target + (y - first) * step, to + x0, (size_t)(x1 - x0));
        uint8_t *done = to;
        to = above, above = done;
    }
    if (above != workspace)
        memcpy(workspace, above, (size_t)x1);
    return DONE;
}
