/* Rows mixed of rows that follow one another: what smooths noise on a coarse grid, and draws the grid out to an image.

   Beside compiler/kernels/coarse_fields.py, which says with which weights. */

#include "lanes.h"

enum { AT_ONCE = 4 };

/* Columns from `x` on, `registers` of them full: each the sum of `taps` rows by weight, and a slope that runs along. */
static inline __attribute__((always_inline)) void mix_columns(const float *from, int64_t columns, const float *weights,
                                                              int64_t taps, int64_t x, int registers, float across,
                                                              float *to) {
    Floats sums[AT_ONCE], one, at;
    for (int n = 0; n < registers; n++)
        sums[n] = (Floats){0};
    for (int64_t k = 0; k < taps; k++)
        for (int n = 0; n < registers; n++) {
            memcpy(&one, from + k * columns + x + n * LANES, sizeof one);
            sums[n] += one * weights[k];
        }
    for (int i = 0; i < LANES; i++)
        at[i] = (float)i;
    for (int n = 0; n < registers; n++) {
        one = sums[n] + (at + (float)(x + n * LANES)) * across;
        memcpy(to + x + n * LANES, &one, sizeof one);
    }
}

/* from:    rows of so many columns
   weights: `taps` for each row that is made; starts: from which row on
   across, down: what is added for each column, and for each row
   to:      rows x columns */
KERNEL(mix_rows)(const float *from, int64_t columns, const float *weights, const int64_t *starts, int64_t taps,
                 float across, float down, float *to, int64_t rows) {
    if (columns < LANES || taps < 1)
        return REFUSED;
    for (int64_t y = 0, x; y < rows; y++, weights += taps, to += columns) {
        const float *first = from + starts[y] * columns;
        for (x = 0; x + AT_ONCE * LANES <= columns; x += AT_ONCE * LANES)
            mix_columns(first, columns, weights, taps, x, AT_ONCE, across, to);
        for (; x < columns; x += LANES) /* the last one begins earlier */
            mix_columns(first, columns, weights, taps, MIN(x, columns - LANES), 1, across, to);
        for (x = 0; down != 0 && x < columns; x++)
            to[x] += down * (float)y;
    }
    return DONE;
}
