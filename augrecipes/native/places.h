/* The source places of the pixels of a warped image, and the folding of coordinates at its border. */

#pragma once

#include "layout.h"
#include "planes.h"
#include "sampled.h"
#include "near.h"

/* `fold` for a block; the slow divisions of `fold` are seldom needed. */
static __attribute__((noinline)) void fold_block(const int32_t *restrict at, int32_t more, int32_t n, int32_t border, int32_t *restrict to) {
    const Fold f = border == BORDER_CONSTANT ? (Fold){0, -1, -1} : fold_of(n, border);
    int32_t strays = 0;
    for (int i = 0; i < BLOCK; i++) {
        int32_t a = at[i] + more, b = a < 0 ? f.times * a + f.before : a;
        to[i] = a >= n ? f.times * a + f.behind : b;
        strays |= (uint32_t)to[i] >= (uint32_t)n && border != BORDER_CONSTANT;
    }
    for (int i = 0; i < BLOCK && strays; i++)
        to[i] = fold(at[i] + more, n, border);
}

/* The path along a row of the result: steps in 1/65536 px; a row begins at `u` and `v`, in 2^-32 px. */
typedef struct {
    const double *m;
    int affine;
    int64_t across_u, across_v, u, v, left, top; /* left, top: offset of the image, in px */
    int32_t steps_u[BLOCK], steps_v[BLOCK];
    const Job *job; /* its grid or lens may distort the image */
} Path;

static inline int64_t fine(double px) { return (int64_t)rint(px * 4294967296.0); }

static inline void begin_path(Path *p, const Job *job, const double *m) {
    int64_t left = job->left, top = job->top;
    p->m = m, p->job = job;
    p->left = left, p->top = top;
    p->affine = m[6] == 0 && m[7] == 0 && m[8] == 1;
    p->across_u = p->affine ? fine(m[0]) : 0, p->across_v = p->affine ? fine(m[3]) : 0;
    for (int i = 0; i < BLOCK; i++) {
        p->steps_u[i] = (int32_t)((i * p->across_u) >> 16);
        p->steps_v[i] = (int32_t)((i * p->across_v) >> 16);
    }
}

static inline void begin_row(Path *p, int64_t y) {
    if (p->affine) {
        p->u = fine(p->m[1] * (double)y + p->m[2]) - (p->left << 32);
        p->v = fine(p->m[4] * (double)y + p->m[5]) - (p->top << 32);
    }
}

/* Half a unit of the weights, for rounding: these count 1/128 px across and 1/256 px down. */
enum { HALF_ACROSS = 256, HALF_DOWN = 128 };

/* The places of a block of pixels from (x, y) on, plus the rounding offsets. */
static inline void find_places(const Path *p, int64_t x, int64_t y, int64_t width, int32_t *restrict u,
                               int32_t *restrict v) {
    if (p->affine) {
        int32_t first_u = (int32_t)((p->u + x * p->across_u) >> 16), first_v = (int32_t)((p->v + x * p->across_v) >> 16);
        for (int i = 0; i < BLOCK; i++) {
            u[i] = first_u + HALF_ACROSS + p->steps_u[i];
            v[i] = first_v + HALF_DOWN + p->steps_v[i];
        }
        return;
    }
    const double *m = p->m;
    int32_t left = ((int32_t)p->left << 16) - HALF_ACROSS, top = ((int32_t)p->top << 16) - HALF_DOWN;
    double c = m[1] * (double)y + m[2], f = m[4] * (double)y + m[5], h = m[7] * (double)y + m[8];
    for (int i = 0; i < BLOCK; i++) {
        double at = (double)MIN((int32_t)x + i, (int32_t)width - 1), part = 65536.0 / (m[6] * at + h);
        u[i] = (int32_t)((m[0] * at + c) * part) - left;
        v[i] = (int32_t)((m[3] * at + f) * part) - top;
    }
}

/* Interpolate between two places of a grid. */
static inline int32_t along_grid(const int32_t *grid, int32_t at) {
    const int32_t *two = grid + (at >> 16);
    return two[0] + (int32_t)((int64_t)(two[1] - two[0]) * (at & 0xffff) >> 16);
}

/* The same, where a grid or a lens may distort the image: all places are then within it. */
static inline void find_bent_places(const Path *p, int64_t x, int64_t y, int64_t width, int32_t *restrict u,
                                    int32_t *restrict v) {
    const Job *job = p->job;
    find_places(p, x, y, width, u, v);
    if (!job->across_grid && !job->bends)
        return;
    int32_t right = (int32_t)(job->columns - 1) << 16, bottom = (int32_t)(job->rows - 1) << 16;
    for (int i = 0; i < BLOCK; i++) {
        u[i] = MIN(MAX(u[i] - HALF_ACROSS, 0), right);
        v[i] = MIN(MAX(v[i] - HALF_DOWN, 0), bottom);
    }
    if (job->across_grid) {
        for (int i = 0; i < BLOCK; i++) {
            u[i] = along_grid(job->across_grid, u[i]) + HALF_ACROSS;
            v[i] = along_grid(job->down_grid, v[i]) + HALF_DOWN;
        }
        return;
    }
    const float wide = (float)(65536 * job->columns), tall = (float)(65536 * job->rows), k = (float)job->lens;
    const float across = 1 / (wide * wide), down = 1 / (tall * tall);
    for (int i = 0; i < BLOCK; i++) { /* the lens' centre in the image is half a pixel from that in the result */
        float a = (float)u[i] - (wide / 2 - 32768), b = (float)v[i] - (tall / 2 - 32768);
        float far = a * a * across + b * b * down, bent = 1 + k * (far + far * far);
        u[i] = (int32_t)(a * bent + (wide / 2 + HALF_ACROSS));
        v[i] = (int32_t)(b * bent + (tall / 2 + HALF_DOWN));
    }
}
