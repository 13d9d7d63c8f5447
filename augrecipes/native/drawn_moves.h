/* Draws of steps that move pixels: windows, sides, scales and borders, as albumentations' samplers place them. */

#pragma once

#include "drawing.h"

/* x_min, y_min, x_max, y_max of a window, placed by two numbers in [0, 1]. */
static inline void place_window(const Drawing *d, int64_t height, int64_t width, double down, double across, double *to) {
    height = MIN(height, d->rows), width = MIN(width, d->columns);
    int64_t y = (int64_t)((double)(d->rows - height + 1) * down), x = (int64_t)((double)(d->columns - width + 1) * across);
    to[0] = (double)x, to[1] = (double)y, to[2] = (double)(x + width), to[3] = (double)(y + height);
}

static inline void centre_window(const Drawing *d, int64_t height, int64_t width, double *to) {
    int64_t y = d->rows - height, x = d->columns - width; /* halves are rounded down, also below 0 */
    y = y >= 0 ? y / 2 : -((1 - y) / 2), x = x >= 0 ? x / 2 : -((1 - x) / 2);
    to[0] = (double)x, to[1] = (double)y, to[2] = (double)(x + width), to[3] = (double)(y + height);
}

static inline void resized_crop(Drawing *d, const double *a, double *to) {
    double area = (double)(d->rows * d->columns), least = a[0] * area, most = a[1] * area;
    for (int k = 0; k < 10; k++) {
        double wanted = stream_uniform(&d->stream, least, most), ratio = exp(stream_uniform(&d->stream, a[2], a[3]));
        double width = rint(sqrt(wanted * ratio)), height = rint(sqrt(wanted / ratio));
        if (0 < width && width <= (double)d->columns && 0 < height && height <= (double)d->rows) {
            double down = stream_unit(&d->stream), across = stream_unit(&d->stream);
            place_window(d, (int64_t)height, (int64_t)width, down, across, to);
            return;
        }
    }
    double width = (double)d->columns, height = (double)d->rows, ratio = width / height;
    if (ratio < a[4])
        height = rint(width / a[4]);
    else if (ratio > a[5])
        width = rint(height * a[5]);
    centre_window(d, (int64_t)height, (int64_t)width, to);
}

/* Padding before and after a side: to a minimum size, or to a multiple of a divisor; -1: neither. */
static inline void grow_side(int64_t size, int64_t least, int64_t divisor, double *to) {
    int64_t more = least >= 0 ? MAX(least - size, 0) : divisor > 0 && size % divisor ? divisor - size % divisor : 0;
    to[0] = (double)(more / 2), to[1] = (double)(more - more / 2);
}

/* Distribute a border (rows above and below, columns before and after) by the position of the image; 0 if that is
   unknown. */
static inline int move_border(Drawing *d, int64_t to_where, double *sides) {
    double rows = sides[0] + sides[1], columns = sides[2] + sides[3];
    if (to_where == CENTER)
        return 1;
    if (to_where == RANDOM) {
        sides[0] = (double)stream_randint(&d->stream, 0, (int64_t)rows);
        sides[2] = (double)stream_randint(&d->stream, 0, (int64_t)columns);
    } else {
        sides[0] = to_where == BOTTOM_LEFT || to_where == BOTTOM_RIGHT ? rows : 0;
        sides[2] = to_where == TOP_RIGHT || to_where == BOTTOM_RIGHT ? columns : 0;
    }
    sides[1] = rows - sides[0], sides[3] = columns - sides[2];
    return TOP_LEFT <= to_where && to_where <= RANDOM;
}

static inline int draw_padding(Drawing *d, const double *a, double *to) {
    grow_side(d->rows, (int64_t)a[0], (int64_t)a[2], to);
    grow_side(d->columns, (int64_t)a[1], (int64_t)a[3], to + 2);
    return move_border(d, (int64_t)a[4], to);
}

/* Padding before a crop of height x width, if the step pads; the image has the padded size then. */
static inline int pad_first(Drawing *d, const double *a, double *sides) {
    for (int k = 0; k < 4; k++)
        sides[k] = 0;
    if (a[0] <= (double)d->rows && a[1] <= (double)d->columns)
        return 1;
    if (!a[2])
        return 0;
    grow_side(d->rows, (int64_t)a[0], 0, sides);
    grow_side(d->columns, (int64_t)a[1], 0, sides + 2);
    if (!move_border(d, (int64_t)a[3], sides))
        return 0;
    d->rows += (int64_t)(sides[0] + sides[1]), d->columns += (int64_t)(sides[2] + sides[3]);
    return 1;
}

/* A fixed window, with the padding that makes the image contain it. */
static inline int padded_box(Drawing *d, const double *a, double *to) {
    int64_t rows = MAX((int64_t)a[3] - d->rows, 0), columns = MAX((int64_t)a[2] - d->columns, 0);
    double *sides = to + 4;
    for (int k = 0; k < 4; k++)
        to[k] = a[k];
    sides[0] = (double)(rows / 2), sides[1] = (double)(rows - rows / 2);
    sides[2] = (double)(columns / 2), sides[3] = (double)(columns - columns / 2);
    if ((rows || columns) && !move_border(d, (int64_t)a[4], sides))
        return 0;
    sides[1] = MAX(sides[1], (double)rows), sides[3] = MAX(sides[3], (double)columns);
    return 1;
}

/* The factor that gives a side its length. a[0]: which side; a[1]: the number of lengths to draw from, or 0: a fixed
   one. */
static inline double side_scale(Drawing *d, const double *a) {
    double rows = (double)d->rows, columns = (double)d->columns;
    if (a[0] == COVERS || a[0] == FITS) {
        double down = a[2] / rows, across = a[3] / columns;
        return a[0] == COVERS ? MAX(down, across) : MIN(down, across);
    }
    double sides[4] = {[SHORTER_SIDE] = MIN(rows, columns), [LONGER_SIDE] = MAX(rows, columns), [HEIGHT] = rows,
                       [WIDTH] = columns};
    return a[2 + (a[1] ? stream_below(&d->stream, (int64_t)a[1]) : 0)] / sides[(int)a[0]];
}
