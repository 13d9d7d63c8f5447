/* Draws of distortions: the length of each part of a grid, in the order of albumentations' samplers. */

#pragma once

#include <string.h>

#include "drawing.h"

/* The sum of up to 128 numbers in the order of numpy (pairwise, unrolled by eight). */
static inline double sum_of(const double *a, int count) {
    double eight[8], sum = 0;
    if (count < 8) {
        for (int k = 0; k < count; k++)
            sum += a[k];
        return sum;
    }
    memcpy(eight, a, sizeof eight);
    int at = 8;
    for (; at + 8 <= count; at += 8)
        for (int k = 0; k < 8; k++)
            eight[k] += a[at + k];
    sum = ((eight[0] + eight[1]) + (eight[2] + eight[3])) + ((eight[4] + eight[5]) + (eight[6] + eight[7]));
    for (; at < count; at++)
        sum += a[at];
    return sum;
}

/* Scale the lengths of parts so that they fill the side; the last one is the remainder. */
static inline void fit_parts(int64_t size, int parts, double *lengths) {
    int64_t part = size / parts, last = MIN(size, (parts + 1) * part) - parts * part;
    lengths[parts] *= (double)last / (double)part;
    double factor = (double)size / (double)part / sum_of(lengths, parts + 1);
    for (int k = 0; k <= parts; k++)
        lengths[k] *= factor;
}

/* The lengths of parts across, and of those down, each list followed by the remainder; 0 if a part would have no
   pixel. */
static inline int draw_grid(Drawing *d, const double *a, double *to) {
    int parts = (int)a[0];
    if (parts > MOST_PARTS || d->columns < parts || d->rows < parts)
        return 0;
    for (int k = 0; k < 2 * (parts + 1); k++)
        to[k] = 1 + stream_uniform(&d->stream, a[1], a[2]);
    if (a[3]) {
        fit_parts(d->columns, parts, to);
        fit_parts(d->rows, parts, to + parts + 1);
    }
    return 1;
}
