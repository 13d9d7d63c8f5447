/* The region that a warp will read of its image, as a quadrilateral, which is read line by line into the cache before
   it is gathered from: gathers from memory that is not cached take twice as long. */

#pragma once

#include <math.h>

#include "sampled.h"

enum { BLOCK = 16 };       /* pixels whose places are computed together, on every instruction set */
enum { FURTHEST = 30000 }; /* px: places are integers of 1/65536 px */

/* The places of the corner pixels of a result, in order around it, and their bounds. */
typedef struct {
    double x[4], y[4], left, right, top, bottom;
} Quad;

/* False if a place is NaN or too far away, or if a horizon is between corners. */
static int find_quad(const double *m, int64_t height, int64_t width, Quad *q) {
    for (int k = 0; k < 4; k++) {
        double x = k == 1 || k == 2 ? (double)(width - 1) : 0, y = k >= 2 ? (double)(height - 1) : 0;
        double w = m[6] * x + m[7] * y + m[8], u = (m[0] * x + m[1] * y + m[2]) / w;
        double v = (m[3] * x + m[4] * y + m[5]) / w;
        double more = m[6] == 0 && m[7] == 0 ? BLOCK / m[8] : 0; /* the last block of a row may end after it */
        if (!(w > 1e-6 && w < 1e6 && fabs(u) < FURTHEST && fabs(v) < FURTHEST &&
              fabs(u + m[0] * more) < FURTHEST && fabs(v + m[3] * more) < FURTHEST))
            return 0;
        q->x[k] = u, q->y[k] = v;
        q->left = k ? MIN(q->left, u) : u, q->right = k ? MAX(q->right, u) : u;
        q->top = k ? MIN(q->top, v) : v, q->bottom = k ? MAX(q->bottom, v) : v;
    }
    return 1;
}

/* The range of columns of the quad in rows `top` to `bottom`; false if it has none. */
static int span(const Quad *q, double top, double bottom, double *left, double *right) {
    int found = 0;
    double low = 0, high = 0;
    for (int k = 0; k < 4; k++) {
        double x = q->x[k], y = q->y[k], to_x = q->x[(k + 1) % 4], to_y = q->y[(k + 1) % 4];
        double at[3] = {x, 0, 0};
        int counts[3] = {y >= top && y <= bottom, (y < top) != (to_y < top), (y < bottom) != (to_y < bottom)};
        if (counts[1])
            at[1] = x + (to_x - x) * ((top - y) / (to_y - y));
        if (counts[2])
            at[2] = x + (to_x - x) * ((bottom - y) / (to_y - y));
        for (int i = 0; i < 3; i++)
            if (counts[i]) {
                low = found ? MIN(low, at[i]) : at[i];
                high = found ? MAX(high, at[i]) : at[i];
                found = 1;
            }
    }
    *left = low, *right = high;
    return found;
}

/* Read what a warp will read of an image, line by line; nothing if that does not fit the cache, or is much more than
   the pixels of the result.

   Prefetching the next image while one is written gained nothing on top of this, on processors of two makers. */
static void touch_quad(const uint8_t *pixels, int64_t rows, int64_t columns, int64_t step, int64_t channels, const Quad *q,
                  int64_t result) {
    double across = MIN(q->right + 2, (double)columns) - MAX(q->left, 0), left, right;
    double down = MIN(q->bottom + 2, (double)rows) - MAX(q->top, 0), area = across * down;
    if (!(across > 0 && down > 0 && area * (double)channels <= NEAR && area <= 16 * (double)result))
        return;
    for (int64_t y = (int64_t)MAX(q->top, 0); y < (int64_t)MIN(q->bottom + 2, (double)rows); y++)
        if (span(q, (double)(y - 1), (double)(y + 1), &left, &right))
            touch_row(pixels + y * step, (int64_t)MAX(left, 0) * channels,
                      (int64_t)MIN(right + 2, (double)columns) * channels);
}
