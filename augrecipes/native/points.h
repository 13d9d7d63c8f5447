/* Steps that change values by more than a table, and move no pixel: HSV, grey, noise, holes, shadows, stains. */

#pragma once

#include "sensors.h"
#include "colour_draws.h"
#include "histograms.h"
#include "stencils.h"
#include "polygon.h"
#include "tables.h"

enum { TURN = 3 };

EXPORT int32_t JOIN(hsv, ISA)(const uint8_t *, int64_t, int64_t, int32_t, int32_t, int32_t, int64_t, int32_t, uint8_t *);
EXPORT int32_t JOIN(luma_sum, ISA)(const uint8_t *, int64_t, int64_t *);
EXPORT int32_t JOIN(saturate, ISA)(const uint8_t *, int64_t, float, float, int32_t, uint8_t *);
EXPORT int32_t JOIN(reordered, ISA)(const uint8_t *, int64_t, int64_t, const uint8_t *, uint8_t *);
EXPORT int32_t JOIN(grey, ISA)(const uint8_t *, int64_t, uint8_t *);
EXPORT int32_t JOIN(normal, ISA)(int64_t, const uint32_t *, const float *, const float *, float (*)(float),
                                 double (*)(double), double, double, float, float *, int64_t);
EXPORT int32_t JOIN(add_noise, ISA)(const uint8_t *, const float *, uint8_t *, int64_t);
EXPORT int32_t JOIN(own_noise, ISA)(int64_t, float, float, const uint8_t *, uint8_t *, int64_t, int32_t, int32_t);
EXPORT int32_t JOIN(clahe, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int64_t, int64_t, double, const void *,
                                uint8_t *, int64_t, uint8_t *);
EXPORT int32_t JOIN(stain, ISA)(const uint8_t *, int64_t, double, double, double, double, double, double, const double *,
                                const float *, double, uint8_t *);

EXPORT int32_t JOIN(channel_sums, ISA)(const uint8_t *, int64_t, const void *, float, float, int32_t *, int64_t, int64_t *,
                                       uint8_t *);

enum { ASKED_PIXELS = 4096, TISSUE_LEVEL = 205 }; /* as in ops/stain_estimates.py */

/* The steps of two degrees by which a hue moves; -1 if rounding may move some hues further than others. */
static inline int32_t turn_of(double shift) {
    double whole = floor(shift), rest = shift - whole;
    if (!(fabs(shift) <= 1e5) || (rest != 0 && !(1e-9 < rest && rest < 1 - 1e-9)))
        return -1;
    int64_t turn = (int64_t)whole % 180;
    return (int32_t)(turn < 0 ? turn + 180 : turn);
}

static inline int64_t shift_hsv(Run *run, double hue, double saturation, double value, const double *a) {
    const View *v = &run->view;
    int32_t turn = turn_of(hue);
    Buffers b;
    if (turn < 0)
        return REFUSED;
    if (hue == 0 && saturation == 0 && value == 0)
        return DONE;
    TRY(inplace_buffers(run, &b));
    return JOIN(hsv, ISA)(b.from, v->rows, v->columns, turn, (int32_t)MIN(MAX(saturation, -255), 255),
                          (int32_t)MIN(MAX(value, -255), 255), (int64_t)a[0], (int32_t)a[1], b.to);
}

/* Change brightness, contrast, saturation or hue. */
static inline int64_t jitter_one(Run *run, int which, double amount, const double *a) {
    const View *v = &run->view;
    Buffers b;
    Levels result;
    int64_t sum, count = v->rows * v->columns;
    if (amount == (which == TURN ? 0 : 1))
        return DONE;
    if (which == TURN)
        return shift_hsv(run, 180 * amount, 0, 0, a);
    if (which == 0) {
        scale_levels((float)amount, 0, result);
        append_tables(run, &result, 1);
        return DONE;
    }
    if (which == 2) {
        TRY(inplace_buffers(run, &b));
        return JOIN(saturate, ISA)(b.from, count, (float)amount, (float)(1 - amount), (int32_t)a[2], b.to);
    }
    TRY(contiguous_image(run, &b.from));
    JOIN(luma_sum, ISA)(b.from, count, &sum);
    double mean = (double)sum / (double)count;
    if (amount == 0)
        memset(result, (int)(mean + 0.5), sizeof result);
    else
        scale_levels((float)amount, (float)(mean * (1 - amount)), result);
    append_tables(run, &result, 1);
    return DONE;
}

static inline int64_t jitter_exactly(Run *run, const double *drawn, const double *a) {
    if (turn_of(180 * drawn[TURN]) < 0 || !(drawn[2] <= MOST_SATURATED))
        return REFUSED;
    for (int k = 0; k < 4; k++) {
        int which = (int)drawn[4 + k];
        TRY(jitter_one(run, which, drawn[which], a));
    }
    return DONE;
}

static inline int64_t reorder(Run *run, const double *drawn) {
    const View *v = &run->view;
    Buffers b;
    uint8_t order[MOST_CHANNELS];
    for (int64_t c = 0; c < v->channels; c++)
        order[c] = (uint8_t)drawn[c];
    TRY(replacement_buffers(run, &b, 0));
    return JOIN(reordered, ISA)(b.from, v->rows * v->columns, v->channels, order, b.to);
}

/* Add Gaussian noise; numbers are rounded to float32 as in ops/opencv_variants.py. */
static inline int64_t add_noise(Run *run, const double *drawn, const double *a) {
    int64_t count = run->view.rows * run->view.columns * run->view.channels;
    Buffers b;
    TRY(replacement_buffers(run, &b, count * (int64_t)sizeof(float)));
    float (*logarithm)(float);
    double (*exponential)(double);
    void *functions[2] = {pointer_from(a[3]), pointer_from(a[4])};
    memcpy(&logarithm, functions, sizeof logarithm), memcpy(&exponential, functions + 1, sizeof exponential);
    JOIN(normal, ISA)((int64_t)drawn[2], pointer_from(a[0]), pointer_from(a[1]), pointer_from(a[2]), logarithm, exponential,
                      (float)drawn[1], (float)drawn[0], 255, b.workspace, count);
    return JOIN(add_noise, ISA)(b.from, b.workspace, b.to, count);
}

static inline int64_t add_own_noise(Run *run, const double *drawn, const double *a) {
    const View *v = &run->view;
    int64_t pixels = v->rows * v->columns;
    Buffers b;
    if ((double)(pixels * v->channels) >= a[1])
        return REFUSED;
    TRY(replacement_buffers(run, &b, 0));
    int64_t key = (int64_t)((uint64_t)drawn[2] << 32 | (uint64_t)drawn[3]);
    return JOIN(own_noise, ISA)(key, (float)drawn[1], (float)drawn[0], b.from, b.to, pixels, (int32_t)v->channels,
                                (int32_t)a[0]);
}

static inline int64_t fill_holes(Run *run, const double *drawn, const double *a) {
    int64_t channels = run->view.channels, row = run->view.columns * channels;
    uint8_t *levels;
    if (drawn[0] == 0)
        return DONE;
    if (a[0] && a[0] != (double)channels)
        return REFUSED;
    TRY(writable_image(run, &levels));
    for (int64_t k = 0; k < (int64_t)drawn[0]; k++) {
        int64_t hole[4];
        hole_of(drawn[1 + k], hole);
        int64_t size = MAX(hole[2] - hole[0], 0) * channels;
        uint8_t *first = levels + hole[1] * row + hole[0] * channels;
        for (int64_t i = 0; i < size && hole[1] < hole[3]; i++)
            first[i] = (uint8_t)a[1 + (a[0] ? i % channels : 0)];
        for (int64_t y = hole[1] + 1; y < hole[3]; y++)
            memcpy(first + (y - hole[1]) * row, first, (size_t)size);
    }
    return DONE;
}

/* Darken one polygon after another: levels times what the intensity leaves of them, truncated. */
static inline int64_t cast_shadows(Run *run, const double *drawn, int corners) {
    const View *v = &run->view;
    int64_t rows = v->rows, columns = v->columns, channels = v->channels;
    uint8_t *levels;
    TRY(writable_image(run, &levels));
    uint8_t *mask = arena_alloc(run, rows * columns);
    CHECK_ALLOC(mask);
    for (int64_t k = 0; k < (int64_t)drawn[0]; k++) {
        const double *shadow = drawn + 1 + k * (1 + 2 * corners);
        int64_t places[MOST_CORNERS][2];
        Levels dark;
        for (int n = 0; n < corners; n++)
            places[n][0] = (int64_t)shadow[1 + 2 * n], places[n][1] = (int64_t)shadow[2 + 2 * n];
        for (int n = 0; n < LEVELS; n++) {
            double left = (double)n * (1 - shadow[0]);
            dark[n] = (uint8_t)(left < 0 ? 0 : left > 255 ? 255 : left);
        }
        memset(mask, 0, (size_t)(rows * columns));
        fill_polygon(places, corners, rows, columns, mask);
        for (const uint8_t *at = mask, *end = mask + rows * columns; (at = memchr(at, 1, (size_t)(end - at)));) {
            const uint8_t *behind = memchr(at, 0, (size_t)(end - at));
            int64_t count = (behind ? behind : end) - at;
            uint8_t *there = levels + (at - mask) * channels;
            look_up(there, count * channels, channels, (const uint8_t(*)[LEVELS])dark, 1, there);
            at += count;
        }
    }
    return DONE;
}

static inline int64_t even_out_contrast(Run *run, double clip, const double *a) {
    const View *v = &run->view;
    int64_t down = (int64_t)a[0], across = (int64_t)a[1];
    int64_t size = 3072 * across + 256 * across * down + 8 * v->columns + 1280;
    Buffers b;
    TRY(replacement_buffers(run, &b, size));
    return JOIN(clahe, ISA)(b.from, v->rows, v->columns, v->channels, down, across, clip, pointer_from(a[2]), b.workspace,
                            size, b.to);
}

static inline int64_t jitter_stains(Run *run, const double *drawn, const double *a) {
    int64_t count = run->view.rows * run->view.columns;
    Buffers b;
    TRY(replacement_buffers(run, &b, 0));
    return JOIN(stain, ISA)(b.from, count, drawn[0], drawn[1], drawn[2], drawn[3], drawn[4], drawn[5], pointer_from(a[0]),
                            pointer_from(a[1]), a[2], b.to);
}

/* Whether a thousandth of the pixels absorb light in some channel, and these are not all grey: has_tissue in
   ops/stain_estimates.py. densities: of each level. */
static inline int shows_tissue(const uint8_t *pixels, int64_t count, const int32_t *densities) {
    int64_t step = (count + ASKED_PIXELS - 1) / ASKED_PIXELS | 1, asked = 0, tissue = 0, sums[COLOURS] = {0};
    for (int64_t x = 0; x < count; x += step, asked++) {
        const uint8_t *pixel = pixels + COLOURS * x;
        if (MIN(MIN(pixel[0], pixel[1]), pixel[2]) > TISSUE_LEVEL)
            continue;
        tissue++;
        for (int c = 0; c < COLOURS; c++)
            sums[c] += densities[pixel[c]];
    }
    int64_t least = MIN(MIN(sums[0], sums[1]), sums[2]), most = MAX(MAX(sums[0], sums[1]), sums[2]);
    return 1000 * tissue >= asked && 30 * (most - least) > sums[0] + sums[1] + sums[2];
}

static inline int64_t normalize_stains(Run *run, const double *a) {
    Buffers b;
    TRY(contiguous_image(run, &b.from));
    int64_t count = run->view.rows * run->view.columns;
    if (!shows_tissue(b.from, count, pointer_from(a[1])))
        return DONE;
    TRY(inplace_buffers(run, &b));
    return JOIN(channel_sums, ISA)(b.from, count, pointer_from(a[0]), 1, 0, NULL, 0, NULL, b.to);
}

/* Change values as drawn. */
static inline int64_t change(Run *run, const Step *step, const double *drawn) {
    const double *a = step->arguments + DRAW_ARGUMENTS;
    View *v = &run->view;
    Buffers b;
    if (step->effect <= OP_CURVES)
        return tabulate(run, step, drawn);
    /* OpenCV's Python takes planes of this size for a scalar of four numbers. */
    int colours = v->channels == COLOURS && !(v->rows == 4 && v->columns == 1);
    if (dry_run(run))
        return DONE;
    switch (step->effect) {
    case OP_SHIFTS_HSV: return colours ? shift_hsv(run, drawn[0], drawn[1], drawn[2], a) : REFUSED;
    case OP_JITTERS_EXACTLY: return colours ? jitter_exactly(run, drawn, a) : REFUSED;
    case OP_GRAYS:
        if (!colours || MIN(v->rows, v->columns) == 1) /* it drops a side of one pixel */
            return REFUSED;
        TRY(inplace_buffers(run, &b));
        return JOIN(grey, ISA)(b.from, v->rows * v->columns, b.to);
    case OP_SHUFFLES_CHANNELS: return v->channels == 1 ? DONE : reorder(run, drawn);
    case OP_ADDS_NOISE: return add_noise(run, drawn, a);
    case OP_ADDS_OWN_NOISE: return add_own_noise(run, drawn, a);
    case OP_FILLS_HOLES: return fill_holes(run, drawn, a);
    case OP_CASTS_SHADOWS: return cast_shadows(run, drawn, (int)a[0]);
    case OP_APPLIES_CLAHE: return v->channels == 1 || colours ? even_out_contrast(run, drawn[0], a) : REFUSED;
    case OP_STAINS: return colours ? jitter_stains(run, drawn, a) : REFUSED;
    case OP_NORMALIZES_STAINS: return colours ? normalize_stains(run, a) : REFUSED;
    case OP_ADDS_ISO_NOISE: return colours ? add_photons(run, drawn, a) : REFUSED;
    case OP_ADDS_OWN_ISO_NOISE: return colours ? add_own_photons(run, drawn) : REFUSED;
    case OP_DOWNSCALES: return coarsen(run, drawn[0], a);
    case OP_EQUALIZES:
    case OP_WIDENS_RANGE:
        return v->channels == 1 || colours ? spread_levels(run, step->effect == OP_EQUALIZES, (int)a[0]) : REFUSED;
    default: return apply_stencil(run, step->effect, drawn, a, colours);
    }
}
