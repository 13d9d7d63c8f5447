/* Steps that are a table of levels for each channel, with the bits of albumentations.

   Consecutive tables are merged, also across crops and flips: they are kept in the Run until pixels are read. */

#pragma once

#include <math.h>

#include "materialise.h"

typedef uint8_t Levels[LEVELS];

/* Clip to the range of levels, and truncate. */
static inline uint8_t level_of(float x) { return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x); }

static inline void scale_levels(float factor, float added, uint8_t *levels) {
    for (int v = 0; v < LEVELS; v++)
        levels[v] = level_of((float)v * factor + added);
}

/* Gamma correction. Libraries differ in the last bits of pow: 0 if they decide. */
static inline int bend_levels(double exponent, uint8_t *levels) {
    levels[0] = 0, levels[LEVELS - 1] = LEVELS - 1;
    for (int v = 1; v < LEVELS - 1; v++) {
        double x = pow((double)v / 255.0, exponent) * 255.0;
        levels[v] = (uint8_t)x;
        if (!(fabs(x - rint(x)) > 1e-9))
            return 0;
    }
    return exponent > 0;
}

/* Bezier curves from black to white. Libraries differ in the last bits of powers: 0 if they decide. */
static inline int curve_levels(double first, double last, uint8_t *levels) {
    for (int v = 0; v < LEVELS; v++) {
        double t = v == LEVELS - 1 ? 1.0 : v * (1.0 / 255), left = 1 - t;
        double x = (3 * (left * left) * t * first + 3 * left * (t * t) * last + t * t * t) * 255;
        if (!(fabs(x - floor(x) - 0.5) > 1e-9))
            return 0;
        levels[v] = level_of((float)rint(x));
    }
    return 1;
}

/* Append tables to the pending ones: one for all channels, if `alike`, or one for each. */
static inline void append_tables(Run *run, const Levels *levels, int alike) {
    int all = alike && (run->alike || !run->tabled);
    for (int64_t c = all ? 0 : run->view.channels - 1; c >= 0; c--) /* last the first, which may stand for all */
        for (int v = 0; v < LEVELS; v++) {
            int seen = run->tabled ? run->levels[run->alike ? 0 : c][v] : v;
            run->levels[c][v] = levels[alike ? 0 : c][seen];
        }
    run->alike = all;
    run->tabled = 1;
}

/* Make the tables of a step as drawn. */
static inline int64_t tabulate(Run *run, const Step *step, const double *drawn) {
    const double *a = step->arguments + DRAW_ARGUMENTS;
    int64_t channels = MIN(run->view.channels, MOST_CHANNELS);
    Levels result[MOST_CHANNELS];
    int alike = 1;
    if (!run->sample->target)
        return DONE;
    switch (step->effect) {
    case OP_SCALES_LEVELS:
        scale_levels((float)drawn[0], (float)drawn[1], result[0]);
        break;
    case OP_CORRECTS_GAMMA:
        if (!bend_levels(drawn[0], result[0]))
            return REFUSED;
        break;
    case OP_INVERTS:
        for (int v = 0; v < LEVELS; v++)
            result[0][v] = (uint8_t)(LEVELS - 1 - v);
        break;
    case OP_SOLARIZES:
        for (int v = 0; v < LEVELS; v++)
            result[0][v] = (uint8_t)((double)v >= drawn[0] * 255 ? LEVELS - 1 - v : v);
        break;
    case OP_LIGHTENS_DARK:
        for (int v = 0; v < LEVELS; v++)
            result[0][v] = (uint8_t)(2 * v < LEVELS ? MIN(v + (int)(drawn[0] * 255 + 1e-6), LEVELS - 1) : v);
        break;
    case OP_POSTERIZES:
        alike = a[0] == 1;
        if (!alike && a[0] != (double)channels)
            return REFUSED;
        for (int64_t c = 0; c < (alike ? 1 : channels); c++)
            for (int v = 0; v < LEVELS; v++)
                result[c][v] = (uint8_t)(v & ~((1 << (8 - (int)drawn[c])) - 1));
        break;
    case OP_MULTIPLIES:
        if (channels == 1 || run->view.rows * run->view.columns == 1) /* OpenCV multiplies these differently */
            return REFUSED;
        for (int64_t c = 0; c < channels; c++, alike = 0)
            scale_levels((float)drawn[c], 0, result[c]);
        break;
    case OP_SHIFTS:
        /* As below: OpenCV's Python takes a grey image of this size for a scalar of four numbers. */
        if (channels > 3 || (channels == 1 && run->view.rows == 4 && run->view.columns == 1))
            return REFUSED;
        for (int64_t c = 0; c < channels; c++, alike = 0)
            for (int v = 0; v < LEVELS; v++)
                result[c][v] = (uint8_t)MIN(MAX((double)v + trunc(drawn[c]), 0), 255);
        break;
    case OP_DROPS_CHANNELS:
        for (int64_t c = 0; c < channels; c++, alike = 0)
            for (int v = 0; v < LEVELS; v++)
                result[c][v] = (uint8_t)(drawn[c] ? (int)a[0] : v);
        break;
    case OP_CURVES: {
        int64_t count = (int64_t)drawn[0];
        alike = count == 1;
        /* OpenCV's Python takes planes of this size for a scalar of four numbers. */
        if (!alike && (count != run->view.channels || (run->view.rows == 4 && run->view.columns == 1)))
            return REFUSED;
        for (int64_t c = 0; c < count; c++)
            if (!curve_levels(drawn[1 + c], drawn[1 + count + c], result[c]))
                return REFUSED;
        break;
    }
    default:
        return REFUSED;
    }
    append_tables(run, result, alike);
    return DONE;
}
