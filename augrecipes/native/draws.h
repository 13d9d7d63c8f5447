/* What steps draw in a sample: albumentations' own samplers, to the last bit.

   Beside compiler/native_plan/draws.py, which numbers them and says what their arguments are. */

#ifndef AUGRECIPES_DRAWS_H
#define AUGRECIPES_DRAWS_H

#include <math.h>

#include "plan.h"

enum {
    DRAWS_NOTHING = 0, /* what there would be to draw is its arguments */
    DRAWS_ONE_OF_FOUR, /* arguments: four numbers, of which a randint(0, 3) takes one */
    DRAWS_ONE_OF_EIGHT, /* the same of eight, by Generator.choice */
    DRAWS_ANY_WINDOW,   /* height, width */
    DRAWS_CENTRE,       /* height, width */
    DRAWS_RESIZED_CROP, /* least and greatest part of the area, log of the least and greatest proportions, and these */
    DRAWS_SIZED_CROP,   /* least and greatest height, width over height */
};

/* A step that draws: its generators, and the picture that it sees. */
typedef struct {
    Stream stream;
    Philox philox;
    int64_t rows, columns;
} Drawing;

/* x_min, y_min, x_max, y_max of a window, placed by two numbers of 0 to 1. */
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
        double wanted = between(&d->stream, least, most), ratio = exp(between(&d->stream, a[2], a[3]));
        double width = rint(sqrt(wanted * ratio)), height = rint(sqrt(wanted / ratio));
        if (0 < width && width <= (double)d->columns && 0 < height && height <= (double)d->rows) {
            double down = unit(&d->stream), across = unit(&d->stream);
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

/* Draw; 0 where that is Python's to do. */
static inline int draw(int64_t kind, Drawing *d, const double *a, double *to) {
    double down, across;
    switch (kind) {
    case DRAWS_NOTHING:
        for (int k = 0; k < EFFECT; k++)
            to[k] = a[k];
        return 1;
    case DRAWS_ONE_OF_FOUR:
        to[0] = a[whole(&d->stream, 0, 3)];
        return 1;
    case DRAWS_ONE_OF_EIGHT:
        to[0] = a[integer(&d->philox, 8)];
        return 1;
    case DRAWS_ANY_WINDOW:
        if (a[0] > (double)d->rows || a[1] > (double)d->columns)
            return 0;
        down = unit(&d->stream), across = unit(&d->stream);
        place_window(d, (int64_t)a[0], (int64_t)a[1], down, across, to);
        return 1;
    case DRAWS_CENTRE:
        if (a[0] > (double)d->rows || a[1] > (double)d->columns)
            return 0;
        centre_window(d, (int64_t)a[0], (int64_t)a[1], to);
        return 1;
    case DRAWS_RESIZED_CROP:
        resized_crop(d, a, to);
        return 1;
    case DRAWS_SIZED_CROP: {
        int64_t height = whole(&d->stream, (int64_t)a[0], (int64_t)a[1]), width = (int64_t)((double)height * a[2]);
        down = unit(&d->stream), across = unit(&d->stream);
        place_window(d, height, width, down, across, to);
        return 1;
    }
    default:
        return 0;
    }
}

#endif
