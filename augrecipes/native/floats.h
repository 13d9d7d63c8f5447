/* Converts levels to the floats of an output. */

#pragma once

#include <string.h>

#include "kernels.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum { WHOLE = 16, PART = 4 }; /* floats of a cache line, and of a small register */

#if defined(__AVX512F__)
static inline __m512 line_scaled(const uint8_t *levels, float scale, float shift) {
    __m512 line = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)levels)));
    return _mm512_add_ps(_mm512_mul_ps(line, _mm512_set1_ps(scale)), _mm512_set1_ps(shift));
}
#endif

#if defined(__SSE2__)
static inline __m128 four_scaled(const uint8_t *levels, __m128 scale, __m128 shift) {
    int32_t four;
    memcpy(&four, levels, sizeof four);
    __m128i zero = _mm_setzero_si128(), bytes = _mm_unpacklo_epi8(_mm_cvtsi32_si128(four), zero);
    return _mm_add_ps(_mm_mul_ps(_mm_cvtepi32_ps(_mm_unpacklo_epi16(bytes, zero)), scale), shift);
}

/* By streaming stores, which bypass the cache: only for complete lines of 64 bytes, because lines that are also
   written in another way are slow. */
static inline void scale_past(const uint8_t *restrict levels, int64_t count, float scale, float shift, float *restrict to) {
    const uint8_t *end = levels + count;
    const __m128 scales = _mm_set1_ps(scale), shifts = _mm_set1_ps(shift);
    for (; levels < end && ((uintptr_t)to & 15); levels++)
        *to++ = (float)*levels * scale + shift;
    for (; levels + PART <= end && ((uintptr_t)to & 63); levels += PART, to += PART)
        _mm_store_ps(to, four_scaled(levels, scales, shifts));
    for (; levels + WHOLE <= end; levels += WHOLE, to += WHOLE) {
#if defined(__AVX512F__)
        _mm512_stream_ps(to, line_scaled(levels, scale, shift));
#else
        for (int i = 0; i < WHOLE; i += PART)
            _mm_stream_ps(to + i, four_scaled(levels + i, scales, shifts));
#endif
    }
    for (; levels + PART <= end; levels += PART, to += PART)
        _mm_storeu_ps(to, four_scaled(levels, scales, shifts));
    for (; levels < end; levels++)
        *to++ = (float)*levels * scale + shift;
}
#endif

/* Scale the levels of one channel. `streams`: by streaming stores, for results that exceed the cache and are not read
   soon; `store_fence` must be called at the end. */
static inline void scale_levels(const uint8_t *restrict levels, int64_t count, float scale, float shift,
                                float *restrict to, int streams) {
#if defined(__SSE2__)
    if (streams) {
        scale_past(levels, count, scale, shift, to);
        return;
    }
#else
    (void)streams;
#endif
    int64_t x = 0;
#if defined(__AVX512F__)
    for (; x + WHOLE <= count; x += WHOLE) /* compilers would use half a register */
        _mm512_storeu_ps(to + x, line_scaled(levels + x, scale, shift));
#endif
    for (; x < count; x++)
        to[x] = (float)levels[x] * scale + shift;
}

/* A store fence: streaming stores must be visible before the result is announced. */
static inline void store_fence(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}
