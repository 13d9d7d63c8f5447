/* Splits interleaved pixels of three channels into planes, and joins them. */

#pragma once

#include <string.h>

#include "ops.h"
#include "registers.h"

#if defined(X86)
enum { ACROSS = 256, FEW = 16 }; /* FEW: so many pixels are worth a register */
#define SIXTEEN(of, c)                                                                                                    \
    {of(c, 0), of(c, 1), of(c, 2),  of(c, 3),  of(c, 4),  of(c, 5),  of(c, 6),  of(c, 7),                                 \
     of(c, 8), of(c, 9), of(c, 10), of(c, 11), of(c, 12), of(c, 13), of(c, 14), of(c, 15)}
#define THREE(of) {SIXTEEN(of, 0), SIXTEEN(of, 1), SIXTEEN(of, 2)}

/* Sixteen pixels are three parts of sixteen bytes, and byte k of a channel is in a different part for each k: (c - k)
   % 3. So a blend of the parts has all bytes of a channel, and one shuffle puts them in order, or in reverse order. */
#define BYTE_OF(c, pixel) (3 * (pixel) + (c)) % 16
#define BYTE_FROM_END(c, pixel) BYTE_OF(c, 15 - (pixel))
#define PIXEL_OF(c, byte) (16 * (((c) + 2 * (byte)) % 3) + (byte)) / 3
static const int8_t DEINTERLEAVE[2][COLOURS][16] = {THREE(BYTE_OF), THREE(BYTE_FROM_END)};
static const int8_t INTERLEAVE[COLOURS][16] = THREE(PIXEL_OF);

static inline Register table_of(const int8_t *bytes) { return repeat(_mm_loadu_si128((const __m128i *)(const void *)bytes)); }

/* Blend bytes 0, 3, 6 ... of the first register, 1, 4, 7 ... of the second, and the rest of the third. */
static inline Register blend_three(Register first, Register second, Register third) {
    const __m128i ones = _mm_setr_epi8(-1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1);
    return select_bytes(repeat(ones), first, select_bytes(repeat(_mm_slli_si128(ones, 1)), second, third));
}

/* Split as many pixels as a register has bytes. */
static inline void take_register(const uint8_t *from, int back, int64_t x, uint8_t (*planes)[ACROSS]) {
    const int64_t step = back ? -48 : 48, first = back ? 3 * (REGISTER - 16) : 0;
    Register parts[3];
#pragma GCC unroll 3
    for (int p = 0; p < 3; p++)
        parts[p] = join_sixteens(from + first + 16 * p, 0, step, 2 * step, 3 * step);
#pragma GCC unroll 3
    for (int c = 0; c < COLOURS; c++) {
        Register bytes = blend_three(parts[c], parts[(c + 2) % 3], parts[(c + 1) % 3]);
        bytes = X86(shuffle_epi8)(bytes, table_of(DEINTERLEAVE[back][c]));
        memcpy(planes[c] + x, &bytes, sizeof bytes);
    }
}

static inline void put_register(uint8_t (*planes)[ACROSS], int64_t x, uint8_t *to) {
    Register turned[COLOURS];
#pragma GCC unroll 3
    for (int c = 0; c < COLOURS; c++) {
        memcpy(turned + c, planes[c] + x, sizeof *turned);
        turned[c] = X86(shuffle_epi8)(turned[c], table_of(INTERLEAVE[c]));
    }
#pragma GCC unroll 3
    for (int p = 0; p < 3; p++)
        put_sixteens(blend_three(turned[p], turned[(p + 1) % 3], turned[(p + 2) % 3]), to + 16 * p, 48);
}
#else
enum { ACROSS = 256, FEW = ACROSS + 1 };
#endif

/* Split pixels. back: in reverse order. */
static inline __attribute__((always_inline)) void take_planes_of(const uint8_t *restrict from, int64_t count, int back,
                                                                 uint8_t (*restrict planes)[ACROSS]) {
#if defined(X86)
    for (int64_t x = 0, at; count >= REGISTER && x < count; x += REGISTER) { /* the last register overlaps the one before */
        at = MIN(x, count - REGISTER);
        take_register(from + 3 * (back ? count - REGISTER - at : at), back, at, planes);
    }
    if (FEW <= count && count < REGISTER) {
        uint8_t some[3 * REGISTER] = {0};
        memcpy(some + (back ? 3 * (REGISTER - count) : 0), from, (size_t)(3 * count));
        take_register(some, back, 0, planes);
    }
#endif
    for (int64_t x = 0; x < count && count < FEW; x++)
        for (int32_t c = 0; c < COLOURS; c++)
            planes[c][x] = from[3 * (back ? count - 1 - x : x) + c];
}

static inline void take_apart(const uint8_t *restrict from, int64_t count, uint8_t (*restrict planes)[ACROSS]) {
    take_planes_of(from, count, 0, planes);
}

static inline void take_apart_backwards(const uint8_t *restrict from, int64_t count, uint8_t (*restrict planes)[ACROSS]) {
    take_planes_of(from, count, 1, planes);
}

static inline void put_together(uint8_t (*restrict planes)[ACROSS], int64_t count, uint8_t *restrict to) {
#if defined(X86)
    for (int64_t x = 0, at; count >= REGISTER && x < count; x += REGISTER) {
        at = MIN(x, count - REGISTER);
        put_register(planes, at, to + 3 * at);
    }
    if (FEW <= count && count < REGISTER) {
        uint8_t some[3 * REGISTER];
        put_register(planes, 0, some);
        memcpy(to, some, (size_t)(3 * count));
    }
#endif
    for (int64_t x = 0; x < count && count < FEW; x++)
        to[3 * x] = planes[0][x], to[3 * x + 1] = planes[1][x], to[3 * x + 2] = planes[2][x];
}
