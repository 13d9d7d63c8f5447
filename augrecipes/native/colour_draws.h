/* Draws of steps that change values and move no pixel: those of albumentations' samplers, to the last bit. */

#pragma once

#include "drawn_holes.h"

enum { SEEDS = 1 << 16 };

static inline void draw_order(Drawing *d, double *to) {
    for (int64_t k = 0; k < d->channels; k++)
        to[k] = (double)k;
    for (int64_t k = d->channels - 1; k > 0; k--) {
        int64_t other = stream_below(&d->stream, k + 1);
        double was = to[k];
        to[k] = to[other], to[other] = was;
    }
}

/* random.sample of a short list, by a list of the remaining items. */
static inline int draw_dropped(Drawing *d, const double *a, double *to) {
    int64_t left[MOST_CHANNELS], count = stream_randint(&d->stream, (int64_t)a[0], (int64_t)a[1]);
    if (a[1] >= (double)d->channels)
        return 0;
    for (int64_t k = 0; k < d->channels; k++)
        left[k] = k, to[k] = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t at = stream_below(&d->stream, d->channels - k);
        to[left[at]] = 1;
        left[at] = left[d->channels - k - 1];
    }
    return 1;
}

/* Random polygons within a region of the image. */
static inline int draw_shadows(Drawing *d, const double *a, double *to) {
    int64_t count = stream_randint(&d->stream, (int64_t)a[4], (int64_t)a[5]);
    int64_t corners = (int64_t)a[6], each = 1 + 2 * corners;
    to[0] = (double)count;
    if (count > MOST_SHADOWS || corners > MOST_CORNERS)
        return 0;
    for (int64_t k = 0; k < 2 * count; k++) { /* x of all corners, then y */
        double side = (double)(k % 2 ? d->rows : d->columns);
        int64_t least = (int64_t)(a[k % 2] * side), end = (int64_t)(a[2 + k % 2] * side);
        if (least >= end || least < 0 || (double)end > side)
            return 0;
        for (int64_t n = 0; n < corners; n++)
            to[1 + k / 2 * each + 1 + 2 * n + k % 2] = whole_number(&d->philox, least, end);
    }
    for (int64_t k = 0; k < count; k++)
        to[1 + k * each] = philox_uniform(&d->philox, a[7], a[8]);
    return 1;
}

/* A kernel of 3 x 3: a mixture of the identity and an effect. */
static inline void draw_weights(int64_t kind, Drawing *d, const double *a, double *to) {
    double share = stream_uniform(&d->stream, a[0], a[1]), amount = stream_uniform(&d->stream, a[2], a[3]);
    const double sharp[9] = {-1, -1, -1, -1, 8 + amount, -1, -1, -1, -1};
    const double embossed[9] = {-1 - amount, -amount, 0, -amount, 1, amount, 0, amount, 1 + amount};
    to[0] = 3;
    for (int k = 0; k < 9; k++) {
        float still = (float)(1 - share) * (k == 4 ? 1.0f : 0.0f);
        to[1 + k] = (double)(still + (float)share * (float)(kind == DRAW_SHARPENING ? sharp : embossed)[k]);
    }
}

static inline void draw_curves(Drawing *d, const double *a, double *to) {
    int64_t count = a[1] != 0 ? d->channels : 1;
    Words64 words = words_of(d);
    Normal normal = normal_of(a[2]);
    to[0] = (double)count;
    for (int64_t k = 0; k < 2 * count; k++) {
        double height = (k < count ? 0.25 : 0.75) + a[0] * normal(&words);
        to[1 + k] = MIN(MAX(height, 0.0), 1.0);
    }
}

static inline double odd_number(Drawing *d, const double *a) {
    return a[0] == a[1] ? a[0] : a[0] + 2 * (double)stream_randint(&d->stream, 0, (int64_t)(a[1] - a[0]) / 2);
}

/* The pixels of a line through a square, with equal weights. Libraries differ in the last bits of its direction: 0 if
   they decide. */
static inline int draw_motion(Drawing *d, const double *a, double *to) {
    int64_t side = (int64_t)odd_number(d, a), half = side / 2, count = 0;
    double angle = stream_uniform(&d->stream, a[2], a[3]) * (3.14159265358979323846 / 180);
    double forward = stream_uniform(&d->stream, a[4], a[5]);
    double from = (double)-half * (1 - MAX(forward, 0.0)), end = (double)half * (1 - MAX(-forward, 0.0));
    double along[2] = {sin(angle), cos(angle)}, moved[2] = {0, 0};
    if (side > WIDEST_FILTER)
        return 0;
    for (int k = 1; k >= 0 && a[6]; k--) /* x, then y */
        moved[k] = stream_uniform(&d->stream, -1, 1) * (double)half / 2;
    to[0] = (double)side;
    memset(to + 1, 0, (size_t)(side * side) * sizeof *to);
    for (int64_t n = 0; n < side; n++) {
        double t = n < side - 1 ? (double)n * ((end - from) / (double)(side - 1)) + from : end;
        int64_t at[2];
        for (int k = 0; k < 2; k++) {
            double place = (double)half + along[k] * t + moved[k];
            if (fabs(place - floor(place) - 0.5) < 1e-9)
                return 0;
            at[k] = (int64_t)MIN(MAX(rint(place), 0.0), (double)side - 1);
        }
        count += to[1 + at[0] * side + at[1]] == 0;
        to[1 + at[0] * side + at[1]] = 1;
    }
    for (int64_t k = 1; k <= side * side; k++)
        to[k] = (double)((float)to[k] / (float)count);
    return 1;
}

/* Gaussian weights, of sum 1. Libraries differ in the last bits of exp: 0 if they decide. */
static inline int draw_gaussian(Drawing *d, const double *a, double *to) {
    double deviation = stream_uniform(&d->stream, a[0], a[1]), sum = 0, off = 4e-15;
    int64_t size = stream_randint(&d->stream, (int64_t)a[2], (int64_t)a[3]);
    if (!(deviation > 0 && deviation < MOST_WEIGHTS))
        return 0;
    size = size ? size : 2 * (int64_t)(deviation * 3.5) + 1;
    size += size % 2 == 0;
    to[0] = (double)size;
    if (size > MOST_WEIGHTS)
        return 1; /* they are not used */
    for (int64_t k = 0; k < size; k++) {
        double away = (double)(k - size / 2) / deviation;
        to[1 + k] = exp(-0.5 * (away * away));
        sum += to[1 + k];
    }
    for (int64_t k = 1; k <= size; k++) {
        double weight = to[k] / sum;
        to[k] = (double)(float)weight;
        if ((float)(weight * (1 - off)) != (float)(weight * (1 + off)))
            return 0;
    }
    return 1;
}

/* Draw; 0 if this kind is unknown. */
static inline int draw_colours(int64_t kind, Drawing *d, const double *a, double *to) {
    switch (kind) {
    case DRAW_NUMBERS:
        for (int k = 0; k < (int)a[0]; k++)
            to[k] = stream_uniform(&d->stream, a[1 + 2 * k], a[2 + 2 * k]);
        return 1;
    case DRAW_HUNDREDTHS: to[0] = stream_uniform(&d->stream, a[0], a[1]) / 100.0; break;
    case DRAW_BRIGHTNESS_CONTRAST:
        to[0] = 1.0 + stream_uniform(&d->stream, a[0], a[1]);
        to[1] = stream_uniform(&d->stream, a[2], a[3]) * 255;
        return 1;
    case DRAW_WHOLE_NUMBERS:
        for (int k = 0; k < (int)a[0]; k++)
            to[k] = (double)stream_randint(&d->stream, (int64_t)a[1 + 2 * k], (int64_t)a[2 + 2 * k]);
        return 1;
    case DRAW_MULTIPLIERS:
        for (int64_t k = 0; k < d->channels; k++)
            to[k] = k && !a[2] ? to[0] : (double)(float)philox_uniform(&d->philox, a[0], a[1]);
        return 1;
    case DRAW_SHIFTS:
        philox_integer(&d->philox, SEEDS); /* numpy draws a seed here that is never used */
        for (int64_t k = 0; k < MIN(d->channels, 3); k++)
            to[k] = philox_uniform(&d->philox, a[2 * k], a[2 * k + 1]) * 255;
        return 1;
    case DRAW_ORDER: draw_order(d, to); break;
    case DRAW_DROPPED_CHANNELS: return draw_dropped(d, a, to);
    case DRAW_GAUSS_NOISE:
        to[0] = stream_uniform(&d->stream, a[0], a[1]);
        to[1] = stream_uniform(&d->stream, a[2], a[3]);
        to[2] = (double)philox_integer(&d->philox, SEEDS);
        return 1;
    case DRAW_OWN_NOISE: {
        to[0] = stream_uniform(&d->stream, a[0], a[1]) * 255;
        to[1] = stream_uniform(&d->stream, a[2], a[3]) * 255;
        uint64_t key = hash_with(hash_with(GOLDEN, d->here), (uint64_t)philox_integer(&d->philox, SEEDS));
        to[2] = (double)(key >> 32), to[3] = (double)(key & 0xffffffff);
        return 1;
    }
    case DRAW_ISO_NOISE: {
        uint64_t seed = (uint64_t)philox_integer(&d->philox, UINT32_MAX), key = hash_with(hash_with(GOLDEN, d->here), seed);
        to[0] = stream_uniform(&d->stream, a[0], a[1]), to[1] = stream_uniform(&d->stream, a[2], a[3]);
        to[2] = (double)seed, to[3] = (double)(key >> 32), to[4] = (double)(key & 0xffffffff);
        return 1;
    }
    case DRAW_CURVES: draw_curves(d, a, to); break;
    case DRAW_HOLES: return draw_holes(d, a, to);
    case DRAW_GRID_OF_HOLES: return draw_grid_of_holes(d, a, to);
    case DRAW_ODD_NUMBER: to[0] = odd_number(d, a); break;
    case DRAW_MOTION: return draw_motion(d, a, to);
    case DRAW_SHADOWS: return draw_shadows(d, a, to);
    case DRAW_GAUSSIAN: return draw_gaussian(d, a, to);
    case DRAW_SHARPENING:
    case DRAW_EMBOSSING: draw_weights(kind, d, a, to); break;
    case DRAW_SHARPNESS: {
        double factor = stream_uniform(&d->stream, a[0], a[1]), away = (1 - factor) / 13;
        to[0] = 3;
        for (int k = 0; k < 9; k++)
            to[1 + k] = (double)(float)(k == 4 ? factor + 5 * away : away);
        return 1;
    }
    case DRAW_STAINS:
        for (int k = 0; k < 6; k++)
            to[k] = k < 3 ? 1.0 + stream_uniform(&d->stream, a[0], a[1]) : stream_uniform(&d->stream, a[2], a[3]);
        return 1;
    default: return 0;
    }
    return 1;
}
