/* Steps that imitate cameras: ISO noise, and downscaling. */

#pragma once

#include <math.h>

#include "layers.h"

EXPORT int32_t JOIN(sensor_noise, ISA)(const uint8_t *, int64_t, int64_t, int64_t, double, double, const void *,
                                       const uint64_t *, const double *, int64_t, int32_t, uint8_t *, uint8_t *);
EXPORT int32_t JOIN(iso_noise, ISA)(int64_t, double, double, const uint8_t *, uint8_t *, int64_t);

static inline int64_t add_photons(Run *run, const double *drawn, const double *a) {
    const View *v = &run->view;
    Buffers b;
    TRY(replacement_buffers(run, &b, v->rows * v->columns));
    return JOIN(sensor_noise, ISA)(b.from, v->rows, v->columns, (int64_t)drawn[2], drawn[0], drawn[1], pointer_from(a[2]),
                                   pointer_from(a[3]), pointer_from(a[4]), (int64_t)a[0], (int32_t)a[1], b.workspace, b.to);
}

static inline int64_t add_own_photons(Run *run, const double *drawn) {
    const int64_t pixels = run->view.rows * run->view.columns;
    const uint64_t key = (uint64_t)drawn[3] << 32 | (uint64_t)drawn[4];
    Buffers b;
    if (pixels > UINT32_MAX / 3)
        return REFUSED;
    TRY(replacement_buffers(run, &b, 0));
    return JOIN(iso_noise, ISA)((int64_t)key, drawn[0], drawn[1], b.from, b.to, pixels);
}

EXPORT int32_t JOIN(resize_by, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int32_t, double, uint8_t *, int64_t, int64_t);
EXPORT int32_t JOIN(shrink_by, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int32_t, double, uint8_t *, int64_t, int64_t);

/* The source pixel that OpenCV picks (INTER_NEAREST) for pixel `at` of a resized side of `size` source pixels. */
static inline int64_t nearest_of(int64_t at, double inverse, int64_t size) {
    return MIN((int64_t)floor((double)at * inverse), size - 1);
}

static inline void pick_three(const uint8_t *restrict row, const int32_t *restrict at, int64_t count, uint8_t *restrict to) {
    for (int64_t x = 0; x < count; x++)
        memcpy(to + 3 * x, row + at[x], 3);
}

/* Shrink an image by a factor, and enlarge it back to its size. */
static inline int64_t coarsen(Run *run, double factor, const double *a) {
    const int64_t rows = run->view.rows, columns = run->view.columns, channels = run->view.channels;
    int64_t tall = (int64_t)rint((double)rows * factor), wide = (int64_t)rint((double)columns * factor);
    if (!(factor > 0 && factor <= 1) || tall < 1 || wide < 1 || columns > LONGEST)
        return REFUSED;
    const uint8_t *from;
    uint8_t *to;
    double inverse = 1.0 / factor;
    if (a[0] != INTERP_NEAREST) {
        if ((double)tall / (double)rows == factor && (double)wide / (double)columns == factor) {
            TRY(resize(run, tall, wide, (int64_t)a[0]));
            return resize(run, rows, columns, (int64_t)a[1]);
        }
        if (inverse == floor(inverse)) /* OpenCV uses other code for integer factors */
            return REFUSED;
        if (tall == rows && wide == columns) /* OpenCV copies images of the same size */
            return DONE;
        TRY(contiguous_image(run, &from));
        CHECK_ALLOC(to = arena_alloc(run, tall * wide * channels));
        TRY((a[0] == INTERP_LINEAR ? JOIN(resize_by, ISA) : JOIN(shrink_by, ISA))(
            from, rows, columns, columns * channels, (int32_t)channels, factor, to, tall, wide));
        run->view = whole_image(to, tall, wide, wide * channels, channels);
        return resize(run, rows, columns, (int64_t)a[1]);
    }
    int straight = a[1] == INTERP_NEAREST;
    int64_t height = straight ? rows : tall, width = straight ? columns : wide;
    double down = 1.0 / ((double)rows / (double)tall), across = 1.0 / ((double)columns / (double)wide);
    TRY(contiguous_image(run, &from));
    int32_t *at = (int32_t *)(void *)arena_alloc(run, width * (int64_t)sizeof *at);
    CHECK_ALLOC(at && (to = arena_alloc(run, height * width * channels)));
    for (int64_t x = 0; x < width; x++)
        at[x] = (int32_t)(nearest_of(straight ? nearest_of(x, across, wide) : x, inverse, columns) * channels);
    run->view = whole_image(to, height, width, width * channels, channels);
    for (int64_t y = 0, held = -1; y < height; y++, to += width * channels) {
        int64_t row = nearest_of(straight ? nearest_of(y, down, tall) : y, inverse, rows);
        if (row == held)
            memcpy(to, to - width * channels, (size_t)(width * channels));
        else if (channels == 3)
            pick_three(from + row * columns * 3, at, width, to);
        else
            for (int64_t x = 0; x < width; x++)
                memcpy(to + x * channels, from + row * columns * channels + at[x], (size_t)channels);
        held = row;
    }
    return straight ? DONE : resize(run, rows, columns, (int64_t)a[1]);
}
