/* Windows of results: only the part of a resized image that is asked for is made. */

#pragma once

#include "kernels.h"

enum { LONGEST = 1 << 20 }; /* px */

/* What kernels that resize are told.

   source:  rows x columns x channels of uint8; step: bytes from row to row
   tall, wide: of the whole result
   target:  a window of it, height x width x channels, whose first pixel is at row top, column left; step_to: bytes from
            row to row */
typedef struct {
    const uint8_t *source;
    int64_t rows, columns, step, channels, tall, wide;
    uint8_t *target;
    int64_t top, left, height, width, step_to;
} Resizing;

/* Whether the window lies in the result, and all sizes are ones that whole numbers of 32 bits and floats can tell apart. */
static inline int is_window(const Resizing *r) {
    return r->rows >= 1 && r->columns >= 1 && r->rows <= LONGEST && r->columns <= LONGEST && r->tall <= LONGEST &&
           r->wide <= LONGEST && r->height >= 1 && r->width >= 1 && r->top >= 0 && r->left >= 0 &&
           r->top <= r->tall - r->height && r->left <= r->wide - r->width;
}

/* A kernel of such a window. */
#define RESIZE(name) \
    static inline __attribute__((always_inline)) int32_t name(const Resizing *r); \
    KERNEL(name)(const uint8_t *source, int64_t rows, int64_t columns, int64_t step, int32_t channels, int64_t tall, \
                 int64_t wide, uint8_t *target, int64_t top, int64_t left, int64_t height, int64_t width, int64_t step_to) { \
        const Resizing r = {source, rows, columns, step, channels, tall, wide, target, top, left, height, width, step_to}; \
        return is_window(&r) ? name(&r) : REFUSED; \
    } \
    static int32_t name(const Resizing *r)

/* One of the whole result, by a factor that need not be that of the sizes. */
#define RESIZE_BY(name) \
    static int32_t name(const Resizing *r, double factor); \
    KERNEL(name)(const uint8_t *source, int64_t rows, int64_t columns, int64_t step, int32_t channels, double factor, \
                 uint8_t *target, int64_t tall, int64_t wide) { \
        const Resizing r = {source, rows, columns, step, channels, tall, wide, target, 0, 0, tall, wide, wide * channels}; \
        return is_window(&r) ? name(&r, factor) : REFUSED; \
    } \
    static int32_t name(const Resizing *r, double factor)
