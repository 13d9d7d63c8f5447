/* Resizes of windows: only the requested part of a result is computed. */

#pragma once

#include "kernels.h"

enum { LONGEST = 1 << 20 }; /* px */

/* The arguments of kernels that resize.

   source:  rows x columns x channels of uint8; step: bytes from row to row
   tall, wide: rows and columns of the whole result
   target:  a window of it, height x width x channels, whose first pixel is at row top, column left; step_to: bytes from
            row to row */
typedef struct {
    const uint8_t *source;
    int64_t rows, columns, step, channels, tall, wide;
    uint8_t *target;
    int64_t top, left, height, width, step_to;
} Resizing;

/* Whether the window is inside the result, and all sizes are exact in 32-bit integers and floats. */
static inline int is_window(const Resizing *r) {
    return r->rows >= 1 && r->columns >= 1 && r->rows <= LONGEST && r->columns <= LONGEST && r->tall <= LONGEST &&
           r->wide <= LONGEST && r->height >= 1 && r->width >= 1 && r->top >= 0 && r->left >= 0 &&
           r->top <= r->tall - r->height && r->left <= r->wide - r->width;
}

/* A kernel that makes such a window. */
#define RESIZE(name) \
    static inline __attribute__((always_inline)) int32_t name(const Resizing *r); \
    KERNEL(name)(const uint8_t *source, int64_t rows, int64_t columns, int64_t step, int32_t channels, int64_t tall, \
                 int64_t wide, uint8_t *target, int64_t top, int64_t left, int64_t height, int64_t width, int64_t step_to) { \
        const Resizing r = {source, rows, columns, step, channels, tall, wide, target, top, left, height, width, step_to}; \
        return is_window(&r) ? name(&r) : REFUSED; \
    } \
    static int32_t name(const Resizing *r)

/* A kernel that makes the whole result, by a factor that may differ from the ratio of sizes. */
#define RESIZE_BY(name) \
    static int32_t name(const Resizing *r, double factor); \
    KERNEL(name)(const uint8_t *source, int64_t rows, int64_t columns, int64_t step, int32_t channels, double factor, \
                 uint8_t *target, int64_t tall, int64_t wide) { \
        const Resizing r = {source, rows, columns, step, channels, tall, wide, target, 0, 0, tall, wide, wide * channels}; \
        return is_window(&r) ? name(&r, factor) : REFUSED; \
    } \
    static int32_t name(const Resizing *r, double factor)
