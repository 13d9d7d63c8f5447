/* Multiplies colours by a matrix, and finds their range and mean: in integers of 16 bits, of which a register holds
   many. */

#pragma once

#include <math.h>

#include "planes.h"
#include "shorts.h"

enum { FINEST = 7, COARSEST = 3 }; /* fractional bits */

/* Three rows of four numbers as integers whose sums have `bits` fractional bits. */
typedef struct {
    int16_t rows[COLOURS][4];
    int bits;
} Matrix;

/* Convert a matrix with as many fractional bits as fit; false if its sums are too large for any. */
static int in_whole_numbers(const double rows[COLOURS][4], Matrix *to) {
    double most = 0;
    to->bits = FINEST;
    for (int c = 0; c < COLOURS; c++) {
        const double *r = rows[c];
        most = MAX(most, 256 * (fabs(r[0]) + fabs(r[1]) + fabs(r[2])) + fabs(r[3]) + 1);
    }
    while (to->bits >= COARSEST && !(most * (1 << to->bits) < INT16_MAX))
        to->bits--;
    if (to->bits < COARSEST)
        return 0;
    for (int c = 0; c < COLOURS; c++)
        for (int k = 0; k < 4; k++) { /* products are of 128 times a level, and drop 15 bits */
            int bits = k < 3 ? to->bits + 8 : to->bits;
            to->rows[c][k] = (int16_t)floor(rows[c][k] * (1 << bits) + 0.5);
        }
    return 1;
}

/* Multiply: each product is rounded, then their sum, halves upwards. May read and write up to the next multiple of
   LANES. */
static inline void through_matrix(const Matrix *matrix, int64_t count, const uint8_t *red, const uint8_t *green,
                                  const uint8_t *blue, uint8_t (*to)[ACROSS]) {
    int bits = matrix->bits;
    for (int64_t x = 0; x < count; x += LANES) {
        Shorts r = levels(red + x) << 7, g = levels(green + x) << 7, b = levels(blue + x) << 7;
        for (int c = 0; c < COLOURS; c++) {
            const int16_t *m = matrix->rows[c];
            Shorts sum = high_part_rounded(r, all(m[0])) + high_part_rounded(g, all(m[1])) +
                         high_part_rounded(b, all(m[2]));
            put_levels((sum + (int16_t)(m[3] + (1 << (bits - 1)))) >> bits, to[c] + x);
        }
    }
}

/* Sum, minimum and maximum of the levels of a plane so far; `partial`: partial sums of up to 128 numbers in
   each lane. */
typedef struct {
    int64_t sum;
    int32_t added;
    Shorts least, most, partial;
} RunningStats;

static inline void flush_partial(RunningStats *seen) {
    for (int i = 0; i < LANES; i++)
        seen->sum += seen->partial[i];
    seen->partial = (Shorts){0}, seen->added = 0;
}

static inline void update_stats(RunningStats *seen, const uint8_t *from, int64_t count) {
    int64_t x = 0;
    while (x + LANES <= count) {
        Shorts least = seen->least, most = seen->most, partial = seen->partial;
        int64_t first = x, end = MIN(count, x + (128 - seen->added) * LANES);
        for (; x + LANES <= end; x += LANES) {
            Shorts now = levels(from + x);
            least = lower_of(least, now), most = higher_of(most, now), partial += now;
        }
        seen->least = least, seen->most = most, seen->partial = partial, seen->added += (int32_t)((x - first) / LANES);
        if (seen->added == 128)
            flush_partial(seen);
    }
    for (; x < count; x++) {
        seen->sum += from[x];
        seen->least[0] = MIN(seen->least[0], from[x]), seen->most[0] = MAX(seen->most[0], from[x]);
    }
}
