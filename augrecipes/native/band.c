/* Rows mixed of rows that follow one another: what smooths noise on a coarse grid, draws the grid out to an image, and
   says where each pixel of an image is taken from.

   Beside compiler/kernels/coarse_fields.py, which says with which weights. */

#include "between.h"
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

/* Columns from `x` to `end`, no fewer than LANES. */
static inline void mix_row(const float *top, int64_t columns, const float *weights, int64_t taps, int64_t x, int64_t end,
                           float first, float across, float *to) {
    for (; x + AT_ONCE * LANES <= end; x += AT_ONCE * LANES)
        mix_columns(top, columns, weights, taps, x, AT_ONCE, first, across, to);
    for (; x < end; x += LANES) /* the last one begins earlier */
        mix_columns(top, columns, weights, taps, MIN(x, end - LANES), 1, first, across, to);
}

/* from:    rows of so many columns
   weights: `taps` for each row that is made; starts: from which row on
   across, down: by what the result grows with each column, and each row
   to:      rows x columns */
KERNEL(mix_rows)(const float *from, int64_t columns, const float *weights, const int64_t *starts, int64_t taps,
                 float across, float down, float *to, int64_t rows) {
    if (columns < LANES)
        return REFUSED;
    for (int64_t y = 0; y < rows; y++, to += columns)
        mix_row(from + starts[y] * columns, columns, weights + y * taps, taps, 0, columns, (float)y * down, across, to);
    return DONE;
}

/* Places in 1/65536 px, and so much more; that of what is no number, too. */
static inline void places_of(const float *at, int32_t more, int32_t *to) {
    const Floats furthest = (Floats){0} + FURTHEST;
    for (int i = 0; i < BLOCK; i += LANES) {
        Ints result = truncated(lesser(greater(some(at + i), -furthest), furthest) * 65536.0f) + more;
        memcpy(to + i, &result, sizeof result);
    }
}

/* The pixels of an image taken from where rows that are mixed say, `down` rows further on those of y.

   source: rows x columns pixels of 1 or 3 bytes, `step` bytes from row to row; neither rows nor columns fewer than BLOCK
   from, weights, starts, taps: as above
   to:     rows x columns pixels, side by side */
KERNEL(bend)(const uint8_t *source, int64_t rows, int64_t columns, int64_t step, int32_t channels, int32_t border,
             uint32_t fill, const float *from, const float *weights, const int64_t *starts, int64_t taps, int64_t down,
             uint8_t *to) {
    static const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    Quad whole;
    if (MIN(rows, columns) < BLOCK || !find_quad(still, rows, columns, &whole) || rows * step >= INT32_MAX / 2 ||
        border < BORDER_CONSTANT || border > BORDER_REFLECT_101 || (channels != 1 && channels != COLOURS))
        return REFUSED;
    Source s = {source, (int32_t)rows, (int32_t)columns, (int32_t)step, 0, channels, border, fill};
    s.end = (int32_t)((rows - 1) * step + columns * channels);
    bring(source, rows, columns, step, channels, &whole, rows * columns);
    int64_t some = MIN(columns, ACROSS);
    for (int64_t y = 0; y < rows; y++, to += columns * channels)
        for (int64_t next = 0; next < columns; next += some) {
            int64_t x = MIN(next, columns - some); /* the last ones begin earlier, here and below */
            _Alignas(64) float at[2][ACROSS];
            uint8_t planes[COLOURS][ACROSS];
            for (int k = 0; k < 2; k++) {
                int64_t row = y + k * down;
                mix_row(from + starts[row] * columns, columns, weights + row * taps, taps, x, x + some,
                        k ? (float)y : 0, k ? 0 : 1, at[k] - x);
            }
            for (int64_t i = 0, begin, blocks; i < some; i += blocks * BLOCK) {
                _Alignas(64) int32_t u[SPAN * BLOCK], v[SPAN * BLOCK];
                blocks = MAX(1, MIN(SPAN, (some - i) / BLOCK)), begin = MIN(i, some - BLOCK);
                for (int64_t k = 0; k < blocks; k++) {
                    places_of(at[0] + begin + k * BLOCK, HALF_ACROSS, u + k * BLOCK);
                    places_of(at[1] + begin + k * BLOCK, HALF_DOWN, v + k * BLOCK);
                }
                sample(&s, u, v, blocks, planes[0] + begin, ACROSS);
            }
            if (channels == COLOURS)
                put_together(planes, some, to + COLOURS * x);
            else
                memcpy(to + x, planes, (size_t)some);
        }
    return DONE;
}
