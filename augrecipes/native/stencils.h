/* Steps that read the neighbourhood of each pixel: blurs, sharpening, JPEG artefacts. */

#pragma once

#include "colour_draws.h"
#include "materialise.h"

enum { JPEG_COLUMN = 57, JPEG_REST = 512 }; /* bytes of workspace for each column, and constant ones */

EXPORT int32_t JOIN(blur, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int64_t, uint16_t *, uint8_t *);
EXPORT int32_t JOIN(filter, ISA)(const uint8_t *, int64_t, int64_t, int64_t, const float *, int64_t, int32_t, uint8_t *);
EXPORT int32_t JOIN(gaussian, ISA)(const uint8_t *, int64_t, int64_t, int64_t, const float *, int64_t, int64_t, int64_t,
                                   float *, uint8_t *);
EXPORT int32_t JOIN(median, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int64_t, uint8_t *, uint8_t *);
EXPORT int32_t JOIN(jpeg_round_trip, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int64_t, int32_t, uint8_t *, int64_t,
                                          uint8_t *);

static inline int64_t blur(Run *run, int64_t side) {
    const View *v = &run->view;
    Buffers b;
    TRY(replacement_buffers(run, &b, 2 * (v->columns + side) * v->channels));
    return JOIN(blur, ISA)(b.from, v->rows, v->columns, v->channels, side, b.workspace, b.to);
}

/* Restore the outermost pixels. */
static inline int64_t keep_edges(const View *v, const uint8_t *levels, uint8_t *to) {
    const int64_t row = v->columns * v->channels, bytes = v->rows * row, pixel = v->channels;
    memcpy(to, levels, (size_t)row);
    memcpy(to + bytes - row, levels + bytes - row, (size_t)row);
    for (int64_t at = 0; at < bytes; at += row) {
        memcpy(to + at, levels + at, (size_t)pixel);
        memcpy(to + at + row - pixel, levels + at + row - pixel, (size_t)pixel);
    }
    return DONE;
}

static inline int64_t convolve(Run *run, const double *drawn, const double *a, int all) {
    const View *v = &run->view;
    Buffers b;
    float weights[WIDEST_FILTER * WIDEST_FILTER];
    int64_t side = (int64_t)drawn[0];
    if (side > WIDEST_FILTER)
        return REFUSED;
    for (int64_t k = 0; k < side * side; k++)
        weights[k] = (float)drawn[1 + k];
    TRY(replacement_buffers(run, &b, 0));
    TRY(JOIN(filter, ISA)(b.from, v->rows, v->columns, v->channels, weights, side, (int32_t)a[0], b.to));
    return all ? DONE : keep_edges(v, b.from, b.to);
}

static inline int64_t smooth(Run *run, const double *drawn, const double *a) {
    const View *v = &run->view;
    Buffers b;
    float weights[MOST_WEIGHTS];
    int64_t size = (int64_t)drawn[0];
    if (size > MOST_WEIGHTS)
        return REFUSED;
    if (size == 1)
        return DONE;
    for (int64_t k = 0; k < size; k++)
        weights[k] = (float)drawn[1 + k];
    TRY(replacement_buffers(run, &b, (size + 3) * GAUSSIAN_WIDTH * (int64_t)sizeof(float)));
    return JOIN(gaussian, ISA)(b.from, v->rows, v->columns, v->channels, weights, size, (int64_t)a[0], (int64_t)a[1],
                               b.workspace, b.to);
}

static inline int64_t take_medians(Run *run, int64_t side) {
    const View *v = &run->view;
    Buffers b;
    TRY(replacement_buffers(run, &b, side * ((v->columns + side) * v->channels + 64)));
    return JOIN(median, ISA)(b.from, v->rows, v->columns, v->channels, side, b.workspace, b.to);
}

static inline int64_t compress(Run *run, int32_t quality) {
    const View *v = &run->view;
    Buffers b;
    int64_t size = JPEG_COLUMN * ((v->columns + 63) / 64 * 64) + JPEG_REST;
    TRY(replacement_buffers(run, &b, size));
    return JOIN(jpeg_round_trip, ISA)(b.from, v->rows, v->columns, v->columns * v->channels, v->channels, quality,
                                      b.workspace, size, b.to);
}

/* Apply the effect as drawn; `colours`: whether the image has three channels, also for OpenCV's Python. */
static inline int64_t apply_stencil(Run *run, int64_t effect, const double *drawn, const double *a, int colours) {
    switch (effect) {
    case OP_BLURS: return blur(run, (int64_t)drawn[0]);
    case OP_CONVOLVES:
    case OP_CONVOLVES_INSIDE:
        return colours || run->view.channels == 1 ? convolve(run, drawn, a, effect == OP_CONVOLVES) : REFUSED;
    case OP_COMPRESSES: return compress(run, (int32_t)drawn[0]);
    case OP_SMOOTHS: return smooth(run, drawn, a);
    case OP_MEDIANS: return take_medians(run, (int64_t)drawn[0]);
    default: return REFUSED;
    }
}
