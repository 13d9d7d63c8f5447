/* Gaussian smoothing of float32 fields, with the bits of OpenCV's GaussianBlur: along rows from the first number on,
   then along columns from the middle outwards, where mirrored weights share a product. OpenCV uses fused multiply-add
   except in the last columns, which do not fill its registers: there it fuses, along a row, only the weights that
   remain after groups of four.

   compiler/kernels/fields.py checks whether the installed OpenCV does so. */

#include "lanes.h"

/* Sums that are computed together, along rows and down columns; columns at which OpenCV stops using registers of 8
   and of 4; fewest weights (with fewer OpenCV adds the mirrored ones first), most weights; and from how many on
   `copies` pay. */
enum { AT_ONCE = 8, TALL = 4, WIDE = 8, NARROW = 4, FEWEST = 7, MOST = 8193, MANY = 64 };

static inline void put(Floats numbers, float *to) { memcpy(to, &numbers, sizeof numbers); }

/* Sums along a row for places `x` to `end`, from `copies` of it, each shifted by one number: with many weights one of
   them has a well aligned address. Products are fused with sums from weight `fused` on. Numbers after `end` may be
   written. */
static inline void along(const float *line, int64_t copies, int64_t length, int64_t x, int64_t end, const float *weights,
                         int64_t size, int64_t fused, float *to) {
    for (; x < end; x += AT_ONCE * LANES) {
        Floats sums[AT_ONCE];
        for (int n = 0; n < AT_ONCE; n++)
            sums[n] = some(line + x + n * LANES) * weights[0];
        for (int64_t k = 1; k < size; k++) {
            int64_t copy = k & (copies - 1); /* `copies` is a power of two */
            const float *from = line + copy * length + (k - copy) + x;
            Floats weight = weights[k] - (Floats){0};
            for (int n = 0; n < AT_ONCE; n++)
                sums[n] = times_add(some(from + n * LANES), weight, sums[n], k >= fused);
        }
        for (int n = 0; n < AT_ONCE; n++)
            put(sums[n], to + x + n * LANES);
    }
}

/* Copy a row `copies` times, with its end values repeated as borders. */
static void copy_line(const float *row, int64_t columns, int64_t far, int64_t copies, int64_t length, float *to) {
    for (int64_t x = 0; x < far; x++)
        to[x] = row[0];
    memcpy(to + far, row, (size_t)columns * sizeof *to);
    for (int64_t x = far + columns; x < length; x++)
        to[x] = row[columns - 1];
    for (int64_t k = 1; k < copies; k++)
        memcpy(to + k * length, to + k, (size_t)(length - k) * sizeof *to);
}

/* Sums of TALL rows of the result in LANES columns, whose rows follow one another from `rows` on. */
static inline void down(const float *rows, const float *weights, int64_t far, int fused, Floats *sums) {
    const float *middle = rows + far * LANES;
    for (int n = 0; n < TALL; n++)
        sums[n] = some(middle + n * LANES) * weights[far];
    for (int64_t k = 1; k <= far; k++) {
        Floats weight = weights[far + k] - (Floats){0};
        for (int n = 0; n < TALL; n++)
            sums[n] = times_add(some(middle + (n + k) * LANES) + some(middle + (n - k) * LANES), weight, sums[n], fused);
    }
}

/* The same for all rows of a strip, of which the first `count` columns are written; columns from `fused` on are not
   fused. */
static inline void down_strip(const float *strip, int64_t rows, const float *weights, int64_t far, int64_t fused,
                              int64_t count, float times, float *to, int64_t step) {
    for (int64_t y = 0; y < rows; y += TALL) {
        Floats sums[TALL], others[TALL];
        down(strip + y * LANES, weights, far, 1, sums);
        if (fused < count)
            down(strip + y * LANES, weights, far, 0, others);
        for (int n = 0; n < MIN(TALL, rows - y); n++) {
            float found[2][LANES];
            put(sums[n] * times, found[0]);
            memcpy(to + (y + n) * step, found[0], (size_t)MIN(fused, count) * sizeof *to);
            if (fused < count) {
                put(others[n] * times, found[1]);
                memcpy(to + (y + n) * step + fused, found[1] + fused, (size_t)(count - fused) * sizeof *to);
            }
        }
    }
}

/* Smooth a field in place.

   field:     rows x columns of float32 without gaps, at least two of each
   weights:   `size` of them: odd, at least seven, symmetric
   times:     a factor for the result
   workspace: (rows + 1) * (columns + 128) + 16 * (columns + rows + 2 * size + 300) floats */
KERNEL(smooth_field)(float *field, int64_t rows, int64_t columns, const float *weights, int64_t size, float times,
                     float *workspace) {
    if (!FUSES || rows < 2 || columns < 2 || size < FEWEST || size > MOST || size % 2 == 0)
        return REFUSED;
    int64_t far = size / 2, wide = (columns + LANES - 1) / LANES * LANES, more = AT_ONCE * LANES;
    int64_t fours = columns / NARROW * NARROW, eights = columns / WIDE * WIDE, copies = size > MANY ? LANES : 1;
    int64_t length = (columns + 2 * far + more + 2 * LANES) / LANES * LANES;
    float *line = workspace + (64 - (uintptr_t)workspace % 64) % 64 / sizeof *workspace, *strip = line + copies * length;
    float *sums = strip + (rows + 2 * far + TALL) * LANES;
    for (int64_t y = 0; y < rows; y++) { /* each row of sums overwrites the excess of the row before it */
        copy_line(field + y * columns, columns, far, copies, length, line);
        along(line, copies, length, 0, fours, weights, size, 0, sums + y * wide);
        if (fours < columns) {
            float last[AT_ONCE * LANES];
            along(line + fours, 1, length, 0, 1, weights, size, size - (size - 1) % NARROW, last);
            memcpy(sums + y * wide + fours, last, (size_t)(columns - fours) * sizeof *last);
        }
    }
    for (int64_t x = 0; x < columns; x += LANES) {
        for (int64_t y = -far; y < rows + far + TALL; y++)
            put(some(sums + MIN(MAX(y, 0), rows - 1) * wide + x), strip + (y + far) * LANES);
        down_strip(strip, rows, weights, far, MIN(MAX(eights - x, 0), LANES), MIN(LANES, columns - x), times, field + x,
                   columns);
    }
    return DONE;
}
