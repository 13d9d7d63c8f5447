/* Draws of steps in a sample: those of albumentations' samplers, to the last bit. ops.def lists their arguments. */

#pragma once

#include "colour_draws.h"
#include "drawn_distortions.h"
#include "drawn_moves.h"
#include "drawn_perspectives.h"

/* The matrix, from input to output, that shifts, shears, rotates and scales about the centre of the image or its
   corner (`part` of the sides is 0.5 or 0). Rows and columns of the output follow. */
static inline void turn_about(const Drawing *d, double part, double rotate, const double *scale, const double *shift,
                              const double *shear, double *to) {
    const double radians = 3.14159265358979323846 / 180.0;
    double turned = fmod(rotate, 360.0), x = (double)d->columns * part - 0.5, y = (double)d->rows * part - 0.5;
    double angle = (turned < 0 ? turned + 360.0 : turned) * radians, c = cos(angle), s = sin(angle);
    double tx = tan(shear[0] * radians), ty = tan(shear[1] * radians);
    double a = (c - tx * s) * scale[0], b = (s + tx * c) * scale[1];
    double e = (ty * c - s) * scale[0], f = (ty * s + c) * scale[1];
    to[0] = a, to[1] = b, to[2] = x + shift[0] - a * x - b * y;
    to[3] = e, to[4] = f, to[5] = y + shift[1] - e * x - f * y;
    to[6] = (double)d->rows, to[7] = (double)d->columns;
}

/* The matrix that rotates an image on a canvas that holds all of it, scaled back to its size. Libraries differ in the
   last bits of sines: 0 if they decide. */
static inline int turn_safely(const Drawing *d, double angle, double *to) {
    double radians = angle * (3.14159265358979323846 / 180), c = cos(radians), s = sin(radians);
    double rows = (double)d->rows, columns = (double)d->columns, x = columns / 2 - 0.5, y = rows / 2 - 0.5;
    double wide = rows * fabs(s) + columns * fabs(c), tall = rows * fabs(c) + columns * fabs(s);
    if (!(fabs(wide - rint(wide)) > 1e-9 && fabs(tall - rint(tall)) > 1e-9 && wide >= 1 && tall >= 1))
        return 0;
    wide = trunc(wide), tall = trunc(tall);
    double across = columns / wide, down = rows / tall;
    double right = (1 - c) * x - s * y, below = s * x + (1 - c) * y;
    right += wide / 2 - x, below += tall / 2 - y;
    to[0] = across * c, to[1] = across * s, to[2] = across * right;
    to[3] = down * -s, to[4] = down * c, to[5] = down * below;
    to[6] = rows, to[7] = columns;
    return 1;
}

static inline void affine(Drawing *d, const double *a, double *to) {
    Stream *s = &d->stream;
    double scale[2], shift[2] = {0, 0}, shear[2];
    for (int k = 0; k < 2 && a[14] == IN_PIXELS; k++)
        shift[k] = (double)stream_randint(s, (int64_t)a[6 + 2 * k], (int64_t)a[7 + 2 * k]);
    for (int k = 0; k < 2 && a[14] == IN_PARTS; k++)
        shift[k] = trunc(stream_uniform(s, a[6 + 2 * k], a[7 + 2 * k]) * (double)(k ? d->rows : d->columns));
    for (int k = 0; k < 2; k++)
        shear[k] = -stream_uniform(s, a[10 + 2 * k], a[11 + 2 * k]);
    for (int k = 0; k < 2; k++)
        scale[k] = stream_uniform(s, a[2 + 2 * k], a[3 + 2 * k]);
    if (a[15] != 0)
        scale[1] = scale[0];
    turn_about(d, a[16] != 0 ? 0 : 0.5, stream_uniform(s, a[0], a[1]), scale, shift, shear, to);
}

/* Draw; 0 if this kind is unknown. */
static inline int draw(int64_t kind, Drawing *d, const double *a, double *to) {
    double down, across;
    switch (kind) {
    case DRAW_NOTHING:
        for (int k = 0; k < DRAW_ARGUMENTS; k++)
            to[k] = a[k];
        return 1;
    case DRAW_ONE_OF_FOUR: to[0] = a[stream_randint(&d->stream, 0, 3)]; break;
    case DRAW_ONE_OF_EIGHT: to[0] = a[d->alternates ? (int64_t)(d->here >> 61) : philox_integer(&d->philox, 8)]; break;
    case DRAW_RANDOM_CROP:
        if (!pad_first(d, a, to + 4))
            return 0;
        down = stream_unit(&d->stream), across = stream_unit(&d->stream);
        place_window(d, (int64_t)a[0], (int64_t)a[1], down, across, to);
        return 1;
    case DRAW_CENTER_CROP:
        if (!pad_first(d, a, to + 4))
            return 0;
        centre_window(d, (int64_t)a[0], (int64_t)a[1], to);
        return 1;
    case DRAW_RESIZED_CROP: resized_crop(d, a, to); break;
    case DRAW_SIZED_CROP: {
        int64_t height = stream_randint(&d->stream, (int64_t)a[0], (int64_t)a[1]), width = (int64_t)((double)height * a[2]);
        down = stream_unit(&d->stream), across = stream_unit(&d->stream);
        place_window(d, height, width, down, across, to);
        return 1;
    }
    case DRAW_ROTATION: {
        const double one[2] = {1, 1}, none[2] = {0, 0};
        turn_about(d, 0.5, stream_uniform(&d->stream, a[0], a[1]), one, none, none, to);
        return 1;
    }
    case DRAW_SAFE_ROTATION: return turn_safely(d, stream_uniform(&d->stream, a[0], a[1]), to);
    case DRAW_AFFINE: affine(d, a, to); break;
    case DRAW_COLOR_JITTER:
        for (int k = 0; k < 4; k++)
            to[k] = stream_uniform(&d->stream, a[2 * k], a[2 * k + 1]), to[4 + k] = k;
        philox_shuffle(&d->philox, to + 4, 4);
        return 1;
    case DRAW_SIDE_LENGTH: to[0] = side_scale(d, a); break;
    case DRAW_SCALE: to[0] = stream_uniform(&d->stream, a[0], a[1]) + 1.0; break;
    case DRAW_PADDING: return draw_padding(d, a, to);
    case DRAW_PADDED_BOX: return padded_box(d, a, to);
    case DRAW_BY_WEIGHT: {
        double found = philox_unit(&d->philox);
        to[0] = 0;
        for (int k = 0; k < (int)a[0]; k++)
            to[0] += a[1 + k] <= found;
        return to[0] < a[0];
    }
    case DRAW_SOME: philox_choice(&d->philox, (int)a[0], (int)a[1], (uint32_t)a[2], to); break;
    case DRAW_GRID_DISTORTION: return draw_grid(d, a, to);
    case DRAW_PERSPECTIVE: return draw_tilt(d, a, to);
    case DRAW_LENS_DISTORTION: to[0] = stream_uniform(&d->stream, a[0], a[1]); break;
    default: return draw_colours(kind, d, a, to);
    }
    return 1;
}
