/* Holes as albumentations' samplers place them: their number; then each packed into one number: x_min, y_min, x_max
   and y_max of thirteen bits each. */

#pragma once

#include "drawing.h"

enum { MOST_CELLS = 128, FARTHEST = 1 << CORNER_BITS };

static inline double as_number(const int64_t *hole) {
    return (double)(((hole[0] << CORNER_BITS | hole[1]) << CORNER_BITS | hole[2]) << CORNER_BITS | hole[3]);
}

/* Unpack x_min, y_min, x_max and y_max. */
static inline void hole_of(double number, int64_t *to) {
    for (int k = 3, at = 0; k >= 0; k--, at += CORNER_BITS)
        to[k] = (int64_t)number >> at & (FARTHEST - 1);
}

/* Generator.integers: least <= n < end. */
static inline double whole_number(Philox *n, int64_t least, int64_t end) {
    return (double)(least + philox_integer(n, (uint32_t)(end - least)));
}

static inline int draw_holes(Drawing *d, const double *a, double *to) {
    int64_t count = stream_randint(&d->stream, (int64_t)a[0], (int64_t)a[1]);
    double sides[2] = {(double)d->rows, (double)d->columns}, reach[2][MOST_HOLES];
    int64_t holes[MOST_HOLES][4];
    to[0] = (double)count;
    if (count > MOST_HOLES || d->rows < 1 || d->columns < 1 || MAX(d->rows, d->columns) >= FARTHEST)
        return 0;
    for (int axis = 0; axis < 2; axis++) { /* y, then x */
        double least = a[2 + 2 * axis], most = a[3 + 2 * axis];
        int64_t low = (int64_t)least, end = (int64_t)(MIN(most, sides[axis]) + 1);
        if (!a[6] && low >= end)
            return 0;
        for (int64_t k = 0; k < count; k++)
            reach[axis][k] = a[6] ? trunc(sides[axis] * philox_uniform(&d->philox, least, most))
                                  : whole_number(&d->philox, low, end);
    }
    for (int axis = 0; axis < 2; axis++)
        for (int64_t k = 0; k < count; k++) {
            if (!(reach[axis][k] >= 0 && reach[axis][k] <= sides[axis]))
                return 0;
            int64_t from = (int64_t)whole_number(&d->philox, 0, (int64_t)(sides[axis] - reach[axis][k]) + 1);
            holes[k][1 - axis] = from, holes[k][3 - axis] = from + (int64_t)reach[axis][k];
        }
    for (int64_t k = 0; k < count; k++)
        to[1 + k] = as_number(holes[k]);
    return 1;
}

/* The starts of the cells of a side, whose sizes are shuffled, and the end of the last. */
static inline int draw_cells(Drawing *d, int64_t size, int64_t count, int64_t *to) {
    double sizes[MOST_CELLS];
    if (count < 1 || count > MOST_CELLS || count > size)
        return 0;
    for (int64_t k = 0; k < count; k++)
        sizes[k] = (double)(size / count + (k < size % count));
    philox_shuffle(&d->philox, sizes, (int)count);
    to[0] = 0;
    for (int64_t k = 0; k < count; k++)
        to[k + 1] = to[k] + (int64_t)sizes[k];
    return 1;
}

/* A hole in each cell of a grid. a[0], a[1]: its rows and columns, or 0; a[2], a[3]: cells are squares of a[2] to
   below a[3] px, or 0: cells are a tenth of the image. a[4]: the hole's fraction of a cell; a[5]: whether its place
   is random; a[6], a[7]: otherwise its offset down and right. */
static inline int draw_grid_of_holes(Drawing *d, const double *a, double *to) {
    int64_t sizes[2] = {d->rows, d->columns}, counts[2] = {(int64_t)a[0], (int64_t)a[1]}, edges[2][MOST_CELLS + 1];
    int64_t holes[MOST_HOLES][4];
    if (MIN(d->rows, d->columns) < 1 || MAX(d->rows, d->columns) >= FARTHEST)
        return 0;
    if (!counts[0]) {
        int64_t unit = 0;
        if (a[3] != 0) {
            if (a[3] > (double)MIN(d->rows, d->columns) || a[2] >= a[3])
                return 0;
            unit = (int64_t)whole_number(&d->philox, (int64_t)a[2], (int64_t)a[3]);
        }
        for (int axis = 0; axis < 2; axis++)
            counts[axis] = sizes[axis] / (unit ? unit : MAX(2, sizes[axis] / 10));
    }
    if (!draw_cells(d, sizes[0], counts[0], edges[0]) || !draw_cells(d, sizes[1], counts[1], edges[1]) ||
        counts[0] * counts[1] > MOST_HOLES)
        return 0;
    to[0] = (double)(counts[0] * counts[1]);
    for (int axis = 0; axis < 2; axis++)
        for (int64_t k = 0; k < counts[0] * counts[1]; k++) {
            const int64_t *cell = edges[axis] + (axis ? k % counts[1] : k / counts[1]), size = cell[1] - cell[0];
            int64_t hole = (int64_t)MIN(MAX((double)size * a[4], 1.0), (double)(size - 1));
            int64_t off = (int64_t)a[6 + axis];
            if (a[5] != 0)
                off = (int64_t)whole_number(&d->philox, 0, size - hole + 1);
            int64_t from = MIN(MAX(cell[0] + off, 0), sizes[axis] - hole);
            holes[k][1 - axis] = from, holes[k][3 - axis] = MIN(from + hole, sizes[axis]);
        }
    for (int64_t k = 0; k < counts[0] * counts[1]; k++)
        to[1 + k] = as_number(holes[k]);
    return 1;
}
