/* Arithmetic with the same rounding on every instruction set. */

#pragma once

#include "kernels.h"

typedef union {
    float value;
    int32_t bits;
} Float;

/* Round to an integer, half to even; for numbers below 2^22. */
static inline int32_t nearest(float x) {
    Float sum = {x + 12582912.0f};
    return sum.bits - 0x4B400000;
}

static inline float whole(float x) { return x + 12582912.0f - 12582912.0f; }

/* a * b + c, rounded once. Without FMA in double: the products here have so few bits that the sum is exact there. */
static inline float multiply_add(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    return (float)((double)a * (double)b + (double)c);
#endif
}

static inline float times_add(float a, float b, float c, int fused) { return fused ? multiply_add(a, b, c) : a * b + c; }

/* Clip to the levels of uint8. */
static inline int32_t within(int32_t x) { return MIN(MAX(x, 0), 255); }
