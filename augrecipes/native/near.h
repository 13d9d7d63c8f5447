/* What a warp will read of its picture, as a quad among its pixels, brought near line by line before it is gathered
   from: gathering from memory that is far away takes twice as long. */

#ifndef AUGRECIPES_NEAR_H
#define AUGRECIPES_NEAR_H

#include <math.h>

#include "sampled.h"

enum { BLOCK = 16 };       /* pixels that are found together, whatever the instruction set */
enum { FURTHEST = 30000 }; /* px: places are whole numbers of 1/65536 px */

/* The places of the pixels in the corners of a result, in order around it, and the rows and columns between which they lie. */
typedef struct {
    double x[4], y[4], left, right, top, bottom;
} Quad;

/* False where a place is no number or too far away, or where a horizon lies between corners. */
static int find_quad(const double *m, int64_t height, int64_t width, Quad *q) {
    for (int k = 0; k < 4; k++) {
        double x = k == 1 || k == 2 ? (double)(width - 1) : 0, y = k >= 2 ? (double)(height - 1) : 0;
        double w = m[6] * x + m[7] * y + m[8], u = (m[0] * x + m[1] * y + m[2]) / w;
        double v = (m[3] * x + m[4] * y + m[5]) / w;
        double more = m[6] == 0 && m[7] == 0 ? BLOCK / m[8] : 0; /* a row's last block may end behind it */
        if (!(w > 1e-6 && w < 1e6 && fabs(u) < FURTHEST && fabs(v) < FURTHEST &&
              fabs(u + m[0] * more) < FURTHEST && fabs(v + m[3] * more) < FURTHEST))
            return 0;
        q->x[k] = u, q->y[k] = v;
        q->left = k ? MIN(q->left, u) : u, q->right = k ? MAX(q->right, u) : u;
        q->top = k ? MIN(q->top, v) : v, q->bottom = k ? MAX(q->bottom, v) : v;
    }
    return 1;
}

/* Between which columns the quad lies in rows from `top` to `bottom`; false where it has no part in them. */
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

/* Lines of a picture that are still to be brought near: of rows from `row` to `end`, and before these from byte `at` to
   byte `to` of `line`. */
typedef struct Near {
    const uint8_t *pixels, *line;
    int64_t columns, channels, step, row, end, at, to;
    Quad quad;
} Near;

/* Nothing, where that is more than stays near, or much more than pixels are made of it. */
static Near begin_near(const uint8_t *pixels, int64_t rows, int64_t columns, int64_t step, int64_t channels,
                       const Quad *q, int64_t made) {
    double across = MIN(q->right + 2, (double)columns) - MAX(q->left, 0);
    double down = MIN(q->bottom + 2, (double)rows) - MAX(q->top, 0), area = across * down;
    Near n = {.pixels = pixels, .columns = columns, .channels = channels, .step = step, .quad = *q};
    if (across > 0 && down > 0 && area * (double)channels <= NEAR && area <= 16 * (double)made)
        n.row = (int64_t)MAX(q->top, 0), n.end = (int64_t)MIN(q->bottom + 2, (double)rows);
    return n;
}

/* How many lines these are, about. */
static int64_t lines_of(const Near *n) {
    const double *x = n->quad.x, *y = n->quad.y;
    double area = fabs((x[2] - x[0]) * (y[3] - y[1]) - (x[3] - x[1]) * (y[2] - y[0])) / 2;
    return n->row < n->end ? (int64_t)area * n->channels / LINE + 2 * (n->end - n->row) : 0;
}

/* The next of them; 0 where there is none left. */
static inline const uint8_t *next_line(Near *n) {
    while (n->at >= n->to) {
        double left, right;
        if (n->row >= n->end)
            return 0;
        int64_t y = n->row++;
        if (!span(&n->quad, (double)(y - 1), (double)(y + 1), &left, &right))
            continue;
        n->line = n->pixels + y * n->step;
        n->at = (int64_t)MIN(MAX(left, 0), (double)n->columns) * n->channels;
        n->to = (int64_t)MIN(MAX(right + 2, 0), (double)n->columns) * n->channels;
    }
    const uint8_t *found = n->line + n->at;
    n->at += LINE - (int64_t)((uintptr_t)found % LINE);
    return found;
}

/* Read them all. */
static inline void bring(Near *n) {
    const volatile uint8_t *line; /* what is volatile is read indeed */
    while ((line = next_line(n)))
        (void)*line;
}

/* Ask for some of them: more at once would wait for each other. */
static inline void ask(Near *n, int64_t lines) {
    const uint8_t *line;
    for (; lines && (line = next_line(n)); lines--)
        __builtin_prefetch(line, 0, 2);
}

#endif
