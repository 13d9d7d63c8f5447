/* Where the pixels of a warped picture are taken from, and what lies beyond its border. */

#ifndef AUGRECIPES_PLACES_H
#define AUGRECIPES_PLACES_H

#include "job.h"

enum { BLOCK = 16 };             /* pixels that are found together, whatever the instruction set */
enum { FURTHEST = 30000 };       /* px: places are whole numbers of 1/65536 px */

/* A picture that is sampled; `end`: bytes from its first to behind its last pixel. */
typedef struct {
    const uint8_t *pixels;
    int32_t rows, columns, step, end, channels, border;
    uint32_t fill;
} Source;

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

/* The same for a block; a division for each would take long, and is seldom needed. */
static __attribute__((noinline)) void fold_block(const int32_t *restrict at, int32_t more, int32_t n, int32_t border, int32_t *restrict to) {
    int32_t strays = 0, edge = border == REFLECT_101;
    if (border == CONSTANT)
        for (int i = 0; i < BLOCK; i++)
            to[i] = (uint32_t)(at[i] + more) < (uint32_t)n ? at[i] + more : -1;
    else if (border == REPLICATE)
        for (int i = 0; i < BLOCK; i++)
            to[i] = MIN(MAX(at[i] + more, 0), n - 1);
    else if (border == WRAP)
        for (int i = 0; i < BLOCK; i++) {
            int32_t a = at[i] + more, b = a < 0 ? a + n : a;
            to[i] = b >= n ? b - n : b;
            strays |= (uint32_t)to[i] >= (uint32_t)n;
        }
    else
        for (int i = 0; i < BLOCK; i++) {
            int32_t a = at[i] + more, b = a < 0 ? edge - 1 - a : a;
            to[i] = b >= n ? 2 * n - 1 - edge - b : b;
            strays |= (uint32_t)to[i] >= (uint32_t)n;
        }
    for (int i = 0; i < BLOCK && strays; i++)
        to[i] = fold(at[i] + more, n, border);
}

/* Read what is needed of a picture once. */
static void bring_near(const Source *s, const Quad *q, int64_t pixels) {
    int64_t top = (int64_t)MAX(q->top, 0), bottom = (int64_t)MIN(q->bottom + 2, s->rows);
    double across = MIN(q->right + 2, s->columns) - MAX(q->left, 0);
    if (bottom <= top || !(across > 0) || across * (double)(bottom - top) * s->channels > NEAR ||
        across * (double)(bottom - top) > 16 * (double)pixels)
        return;
    for (int64_t y = top; y < bottom; y++) {
        double left, right;
        if (!span(q, (double)(y - 1), (double)(y + 1), &left, &right))
            continue;
        int64_t from = (int64_t)MIN(MAX(left, 0), s->columns), to = (int64_t)MIN(MAX(right + 2, 0), s->columns);
        bring_row(s->pixels + y * s->step, from * s->channels, to * s->channels);
    }
}

/* Whole steps along a row of the result, in 1/65536 px; a row begins at `u` and `v`, in 2^-32 px. */
typedef struct {
    const double *m;
    int affine;
    int64_t across_u, across_v, u, v;
    int32_t steps_u[BLOCK], steps_v[BLOCK];
} Path;

static inline int64_t fine(double px) { return (int64_t)rint(px * 4294967296.0); }

static void begin_path(Path *p, const double *m) {
    p->m = m;
    p->affine = m[6] == 0 && m[7] == 0 && m[8] == 1;
    p->across_u = p->affine ? fine(m[0]) : 0, p->across_v = p->affine ? fine(m[3]) : 0;
    for (int i = 0; i < BLOCK; i++) {
        p->steps_u[i] = (int32_t)((i * p->across_u) >> 16);
        p->steps_v[i] = (int32_t)((i * p->across_v) >> 16);
    }
}

static inline void begin_row(Path *p, int64_t y) {
    if (p->affine) {
        p->u = fine(p->m[1] * (double)y + p->m[2]);
        p->v = fine(p->m[4] * (double)y + p->m[5]);
    }
}

/* The places of a block of pixels, from (x, y) on. */
static inline void find_places(const Path *p, int64_t x, int64_t y, int64_t width, int32_t *restrict u,
                               int32_t *restrict v) {
    if (p->affine) {
        int32_t first_u = (int32_t)((p->u + x * p->across_u) >> 16), first_v = (int32_t)((p->v + x * p->across_v) >> 16);
        for (int i = 0; i < BLOCK; i++) {
            u[i] = first_u + p->steps_u[i];
            v[i] = first_v + p->steps_v[i];
        }
        return;
    }
    const double *m = p->m;
    double c = m[1] * (double)y + m[2], f = m[4] * (double)y + m[5], h = m[7] * (double)y + m[8];
    for (int i = 0; i < BLOCK; i++) {
        double at = (double)MIN((int32_t)x + i, (int32_t)width - 1), part = 65536.0 / (m[6] * at + h);
        u[i] = (int32_t)((m[0] * at + c) * part);
        v[i] = (int32_t)((m[3] * at + f) * part);
    }
}

#endif
