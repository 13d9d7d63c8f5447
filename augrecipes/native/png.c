/* Rows of a PNG as they were before they were filtered; of a window, no more of them than lies above and on its left.

   Beside images/png.py, which inflates them and says what they mean; where there are no kernels, Pillow does
   both. The filters are those of the PNG specification, chapter 9: a row is stored less its left neighbours, less the
   row above, less the mean of both, or less the one of left, above and above left that is nearest to a plane. */

#include <string.h>

#include "kernels.h"

enum { NONE, SUB, UP, AVERAGE, PAETH };
enum { EIGHT = 8 };     /* bytes of the largest pixel; each is read and written as so many */
enum { MARGIN = 16 };   /* bytes behind a row in `workspace`, for the last of them */
enum { UNKNOWN = -2 };  /* what is answered to a filter that is none of these */

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

static inline Wide chosen(Wide mask, Wide one, Wide other) { return (one & mask) | (other & ~mask); }

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
        Wide near = chosen(of_over <= of_corner, over, corner);
        near = chosen((of_left <= of_over) & (of_left <= of_corner), left, near);
        left = (load(row + x) + near) & 255;
        store(left, to + x);
        corner = over;
    }
}

/* One row; `pixel` is known where this is compiled. */
static inline void undone(int filter, const uint8_t *row, const uint8_t *above, int64_t size, int64_t pixel, uint8_t *to) {
    if (filter == SUB)
        sub(row, size, pixel, to);
    else if (filter == AVERAGE)
        average(row, above, size, pixel, to);
    else
        paeth(row, above, size, pixel, to);
}

static void undo(int filter, const uint8_t *row, const uint8_t *above, int64_t size, int64_t pixel, uint8_t *to) {
    if (filter == NONE)
        memcpy(to, row, (size_t)size);
    else if (filter == UP)
        up(row, above, size, to);
    else if (pixel <= 4)
        CALL_WITH(pixel, undone(filter, row, above, size, N, to))
    else
        CALL_WITH(pixel / 2, undone(filter, row, above, size, 2 * N, to))
}

/* rows:   `count` of them, each a byte that names its filter and `size` bytes more
   pixel:  bytes of one: 1, 2, 3, 4, 6 or 8
   first:  of these rows, so many are not handed out: the window begins below them
   x0, x1: bytes of a row that are handed out, the end exclusive; multiples of `pixel`
   workspace:   3 (x1 + 16) bytes that go from call to call; they begin with the row above, before the first one with zeros
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
            begin = y; /* nothing above matters to it */
    }
    uint8_t *above = workspace, *to = workspace + x1 + MARGIN, *padded = to + x1 + MARGIN;
    for (int64_t y = begin; y < count; y++) {
        const uint8_t *row = rows + y * stride + 1;
        uint8_t filter = row[-1];
        if (x1 + EIGHT > (count - y) * stride - 1) /* so that nothing behind the last is read */
            row = memcpy(padded, row, (size_t)x1);
        undo(filter, row, above, x1, pixel, to);
        if (y >= first)
            memcpy(target + (y - first) * step, to + x0, (size_t)(x1 - x0));
        uint8_t *done = to;
        to = above, above = done;
    }
    if (above != workspace)
        memcpy(workspace, above, (size_t)x1);
    return DONE;
}
