/* Weighted sums of consecutive rows: they smooth noise on a coarse grid, enlarge that grid to the size of an image,
   and give the places for `bend`, which remaps an image on the fly.

   The weights come from compiler/kernels/coarse_fields.py. */

#include "between.h"
#include "lanes.h"

enum { AT_ONCE = 4 };

/* Make columns from `x` on, as many as fill so many registers: a ramp along the row that starts with `first`, plus
   the weighted sum of `taps` rows. */
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

/* Make columns `x` to `end`, at least LANES of them. */
static inline void mix_row(const float *top, int64_t columns, const float *weights, int64_t taps, int64_t x, int64_t end,
                           float first, float across, float *to) {
    for (; x + AT_ONCE * LANES <= end; x += AT_ONCE * LANES)
        mix_columns(top, columns, weights, taps, x, AT_ONCE, first, across, to);
    for (; x < end; x += LANES) /* the last block overlaps the one before */
        mix_columns(top, columns, weights, taps, MIN(x, end - LANES), 1, first, across, to);
}

/* Mix rows.

   from:         rows of so many columns
   weights:      `taps` for each row of the result; starts: the first row that each one weighs
   across, down: by how much the result grows with each column and with each row
   to:           rows x columns */
KERNEL(mix_rows)(const float *from, int64_t columns, const float *weights, const int64_t *starts, int64_t taps,
                 float across, float down, float *to, int64_t rows) {
    if (columns < LANES)
        return REFUSED;
    for (int64_t y = 0; y < rows; y++, to += columns)
        mix_row(from + starts[y] * columns, columns, weights + y * taps, taps, 0, columns, (float)y * down, across, to);
    return DONE;
}

/* Places in 1/65536 px plus `more`, limited to FURTHEST; NaN gives a defined value, too. */
static inline void places_of(const float *at, int32_t more, int32_t *to) {
    const Floats furthest = (Floats){0} + FURTHEST;
    for (int i = 0; i < BLOCK; i += LANES) {
        Ints result = truncated(lesser(greater(some(at + i), -furthest), furthest) * 65536.0f) + more;
        memcpy(to + i, &result, sizeof result);
    }
}

/* Remap an image bilinearly by mixed rows: those that give y lie `down` rows after those that give x.

   source: rows x columns pixels of 1 or 3 bytes, `step` bytes from row to row; at least BLOCK rows and BLOCK columns
   from, weights, starts, taps: as for mix_rows
   to:     rows x columns pixels without gaps */
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
    touch_quad(source, rows, columns, step, channels, &whole, rows * columns);
    int64_t some = MIN(columns, ACROSS);
    for (int64_t y = 0; y < rows; y++, to += columns * channels)
        for (int64_t next = 0; next < columns; next += some) {
            int64_t x = MIN(next, columns - some); /* the last part overlaps the one before; so do the last blocks */
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
