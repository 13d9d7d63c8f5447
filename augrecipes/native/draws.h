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
    DRAWS_ROTATION,     /* least and greatest angle */
    DRAWS_AFFINE,       /* the same, of scale across and down, of shifts, of shears; what shifts count; keeps proportions */
    DRAWS_JITTER,       /* the least and greatest brightness, contrast, saturation and hue */
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

/* A matrix about the middle of the picture, from what goes in to what comes out: shifted, sheared, turned, scaled. Then
   rows and columns of what comes out. */
static inline void about_middle(const Drawing *d, double rotate, const double *scale, const double *shift,
                                const double *shear, double *to) {
    const double radians = 3.14159265358979323846 / 180.0;
    double turned = fmod(rotate, 360.0), x = (double)d->columns / 2 - 0.5, y = (double)d->rows / 2 - 0.5;
    double angle = (turned < 0 ? turned + 360.0 : turned) * radians, c = cos(angle), s = sin(angle);
    double tx = tan(shear[0] * radians), ty = tan(shear[1] * radians);
    double a = (c - tx * s) * scale[0], b = (s + tx * c) * scale[1];
    double e = (ty * c - s) * scale[0], f = (ty * s + c) * scale[1];
    to[0] = a, to[1] = b, to[2] = x + shift[0] - a * x - b * y;
    to[3] = e, to[4] = f, to[5] = y + shift[1] - e * x - f * y;
    to[6] = (double)d->rows, to[7] = (double)d->columns;
}

enum { IN_PIXELS = 1, IN_PARTS = 2 };

static inline void affine(Drawing *d, const double *a, double *to) {
    Stream *s = &d->stream;
    double scale[2], shift[2] = {0, 0}, shear[2];
    for (int k = 0; k < 2 && a[14] == IN_PIXELS; k++)
        shift[k] = (double)whole(s, (int64_t)a[6 + 2 * k], (int64_t)a[7 + 2 * k]);
    for (int k = 0; k < 2 && a[14] == IN_PARTS; k++)
        shift[k] = trunc(between(s, a[6 + 2 * k], a[7 + 2 * k]) * (double)(k ? d->rows : d->columns));
    for (int k = 0; k < 2; k++)
        shear[k] = -between(s, a[10 + 2 * k], a[11 + 2 * k]);
    for (int k = 0; k < 2; k++)
        scale[k] = between(s, a[2 + 2 * k], a[3 + 2 * k]);
    if (a[15] != 0)
        scale[1] = scale[0];
    about_middle(d, between(s, a[0], a[1]), scale, shift, shear, to);
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
    case DRAWS_ROTATION: {
        const double one[2] = {1, 1}, none[2] = {0, 0};
        about_middle(d, between(&d->stream, a[0], a[1]), one, none, none, to);
        return 1;
    }
    case DRAWS_AFFINE:
        affine(d, a, to);
        return 1;
    case DRAWS_JITTER:
        for (int k = 0; k < 4; k++)
            to[k] = between(&d->stream, a[2 * k], a[2 * k + 1]), to[4 + k] = k;
        shuffled(&d->philox, to + 4, 4);
        return 1;
    default:
        return 0;
    }
}

#endif
