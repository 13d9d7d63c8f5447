/* Rows mixed of rows that follow one another: what smooths noise on a coarse grid, and draws the grid out to an image.

   Beside compiler/kernels/coarse_fields.py, which says with which weights. */

#include "lanes.h"

enum { AT_ONCE = 4 };

/* Columns from `x` on, `registers` of them full: what grows from `first` on along the row, and `taps` rows by weight. */
static inline __attribute__((always_inline)) void mix_columns(const float *from, int64_t columns, const float *weights,
                                                              int64_t taps, int64_t x, int registers, float first,
                                                              float across, float *to) {
    Floats sums[AT_ONCE], at;
    for (int i = 0; i < LANES; i++)
        at[i] = (float)i;
    for (int n = 0; n < registers; n++)
        sums[n] = (at + (float)(x + n * LANES)) * across + first;
    for (int64_t k = 0; k < taps; k++)
        for (int n = 0; n < registers; n++)
            sums[n] += some(from + k * columns + x + n * LANES) * weights[k];
    memcpy(to + x, sums, (size_t)registers * sizeof at);
}

/* from:    rows of so many columns
   weights: `taps` for each row that is made; starts: from which row on
   across, down: by what the result grows with each column, and each row
   to:      rows x columns */
KERNEL(mix_rows)(const float *from, int64_t columns, const float *weights, const int64_t *starts, int64_t taps,
                 float across, float down, float *to, int64_t rows) {
    if (columns < LANES)
        return REFUSED;
    for (int64_t y = 0, x; y < rows; y++, weights += taps, to += columns) {
        const float *top = from + starts[y] * columns;
        for (x = 0; x + AT_ONCE * LANES <= columns; x += AT_ONCE * LANES)
            mix_columns(top, columns, weights, taps, x, AT_ONCE, (float)y * down, across, to);
        for (; x < columns; x += LANES) /* the last one begins earlier */
            mix_columns(top, columns, weights, taps, MIN(x, columns - LANES), 1, (float)y * down, across, to);
    }
    return DONE;
}
