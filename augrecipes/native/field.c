/* Fields of single floats made smooth by the weights of a normal distribution, bit for bit as OpenCV's GaussianBlur has
   them: along rows from the first number on, then along columns from the middle outwards, mirrored weights together. It
   fuses products and sums but in the last columns, as many as its registers leave over: there, along a row, it fuses only
   what four weights at once leave over.

   Beside compiler/kernels/fields.py, which finds out whether the installed OpenCV does so. */

#include "lanes.h"

/* Sums at once, along and down; numbers that OpenCV's registers hold; weights at least (of fewer OpenCV adds the
   mirrored ones first), at most, and those that are many. */
enum { AT_ONCE = 8, TALL = 4, WIDE = 8, NARROW = 4, FEWEST = 7, MOST = 8193, MANY = 64 };

static inline void put(Floats numbers, float *to) { memcpy(to, &numbers, sizeof numbers); }

/* Sums along a row from places `x` to `end`, of `copies` of it, each from the next number on: of so many weights that one
   is read from an address that registers like; products are fused with sums from weight `fused` on. What lies behind them
   is written to, too. */
static inline void along(const float *line, int64_t copies, int64_t length, int64_t x, int64_t end, const float *weights,
                         int64_t size, int64_t fused, float *to) {
    for (; x < end; x += AT_ONCE * LANES) {
        Floats sums[AT_ONCE];
        for (int n = 0; n < AT_ONCE; n++)
            sums[n] = some(line + x + n * LANES) * weights[0];
        for (int64_t k = 1; k < size; k++) {
            int64_t copy = k & (copies - 1); /* copies: a power of two */
            const float *from = line + copy * length + (k - copy) + x;
            Floats weight = weights[k] - (Floats){0};
            for (int n = 0; n < AT_ONCE; n++)
                sums[n] = times_add(some(from + n * LANES), weight, sums[n], k >= fused);
        }
        for (int n = 0; n < AT_ONCE; n++)
            put(sums[n], to + x + n * LANES);
    }
}

/* A row, with its ends again before it and behind it, so often. */
static void copy_line(const float *row, int64_t columns, int64_t far, int64_t copies, int64_t length, float *to) {
    for (int64_t x = 0; x < far; x++)
        to[x] = row[0];
    memcpy(to + far, row, (size_t)columns * sizeof *to);
    for (int64_t x = far + columns; x < length; x++)
        to[x] = row[columns - 1];
    for (int64_t k = 1; k < copies; k++)
        memcpy(to + k * length, to + k, (size_t)(length - k) * sizeof *to);
}

/* Sums of LANES columns whose rows follow one another from `rows` on, of TALL rows of the result. */
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

/* The same of a whole field, written to the columns of `to` that there are; those from `fused` on are not fused. */
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

/* field:   rows x columns of float32, each row behind the other, at least two of each; is written to
   weights: `size` of them, odd, seven at least, the last half the first one mirrored
   times:   what becomes of each number at last
   workspace:    (rows + 1) * (columns + 128) + 16 * (columns + rows + 2 * size + 300) floats to work in */
KERNEL(smooth_field)(float *field, int64_t rows, int64_t columns, const float *weights, int64_t size, float times,
                     float *workspace) {
    if (!FUSES || rows < 2 || columns < 2 || size < FEWEST || size > MOST || size % 2 == 0)
        return REFUSED;
    int64_t far = size / 2, wide = (columns + LANES - 1) / LANES * LANES, more = AT_ONCE * LANES;
    int64_t fours = columns / NARROW * NARROW, eights = columns / WIDE * WIDE, copies = size > MANY ? LANES : 1;
    int64_t length = (columns + 2 * far + more + 2 * LANES) / LANES * LANES;
    float *line = workspace + (64 - (uintptr_t)workspace % 64) % 64 / sizeof *workspace, *strip = line + copies * length;
    float *sums = strip + (rows + 2 * far + TALL) * LANES;
    for (int64_t y = 0; y < rows; y++) { /* each row of sums is written over by what the one before it has too many */
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
