/* Vectors of 16-bit integers, eight for each block of 8 x 8 that is processed at a time, and weighted sums of pairs
   in 32 bits, which x86 has as an instruction. */

#pragma once

#include <string.h>

#include "registers.h"

#if defined(__AVX512BW__)
enum { BLOCKS = 4 };
#elif defined(__AVX2__)
enum { BLOCKS = 2 };
#else
enum { BLOCKS = 1 };
#endif
enum { SIDE = 8, LANES = SIDE * BLOCKS };

typedef int16_t Shorts __attribute__((vector_size(2 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));
typedef int32_t Ints __attribute__((vector_size(2 * LANES)));
typedef uint8_t Bytes __attribute__((vector_size(LANES)));

/* LANES numbers of 32 bits, in an order that only `narrowed` knows. */
typedef struct {
    Ints low, high;
} Sums;

/* Two vectors for a weighted sum: on x86 interleaved. */
typedef struct {
    Shorts low, high;
} Two;

static inline Two both(Shorts a, Shorts b) {
#if defined(X86)
    Register of_a = (Register)a, of_b = (Register)b;
    return (Two){(Shorts)X86(unpacklo_epi16)(of_a, of_b), (Shorts)X86(unpackhi_epi16)(of_a, of_b)};
#else
    return (Two){a, b};
#endif
}

/* a * of_a + b * of_b; weights have 16 bits. */
static inline Sums weighed(Two pair, int32_t of_a, int32_t of_b) {
    Sums sums;
#if defined(X86)
    Register weights = X86(set1_epi32)((int32_t)((uint32_t)of_b << 16 | (uint16_t)of_a));
    sums.low = (Ints)X86(madd_epi16)((Register)pair.low, weights);
    sums.high = (Ints)X86(madd_epi16)((Register)pair.high, weights);
#else
    for (int i = 0; i < LANES / 2; i++) {
        sums.low[i] = pair.low[i] * of_a + pair.high[i] * of_b;
        sums.high[i] = pair.low[i + LANES / 2] * of_a + pair.high[i + LANES / 2] * of_b;
    }
#endif
    return sums;
}

static inline Sums plus(Sums a, Sums b) { return (Sums){a.low + b.low, a.high + b.high}; }
static inline Sums minus(Sums a, Sums b) { return (Sums){a.low - b.low, a.high - b.high}; }
static inline Sums raised(Sums a, int32_t by) { return (Sums){a.low + by, a.high + by}; }

/* Divide sums by 2^bits, halves upwards, with saturation to 16 bits. */
static inline Shorts narrowed(Sums sums, int bits) {
    sums = raised(sums, 1 << (bits - 1));
    Ints low = sums.low >> bits, high = sums.high >> bits;
#if defined(X86)
    return (Shorts)X86(packs_epi32)((Register)low, (Register)high);
#else
    Shorts result;
    for (int i = 0; i < LANES / 2; i++) {
        result[i] = (int16_t)MIN(MAX(low[i], -32768), 32767);
        result[i + LANES / 2] = (int16_t)MIN(MAX(high[i], -32768), 32767);
    }
    return result;
#endif
}

LANEWISE(Shorts, Register, lower_of, min_epi16, EACH(MIN(a[i], b[i])))
LANEWISE(Shorts, Register, higher_of, max_epi16, EACH(MAX(a[i], b[i])))

/* The upper half of each product, unsigned and signed; and twice that, halves upwards. */
LANEWISE(Halves, Register, high_product, mulhi_epu16, EACH((uint32_t)a[i] * b[i] >> 16))
LANEWISE(Shorts, Register, high_part, mulhi_epi16, EACH(a[i] * b[i] >> 16))
LANEWISE(Shorts, Register, high_part_rounded, mulhrs_epi16, EACH((a[i] * b[i] + (1 << 14)) >> 15))

/* Broadcast a number. */
static inline Shorts all(int16_t number) { return (Shorts){0} + number; }

static inline Shorts within_levels(Shorts a) { return lower_of(higher_of(a, all(0)), all(255)); }

/* Load LANES bytes as numbers; and store them with saturation. */
static inline Shorts levels(const uint8_t *from) {
    ON_X86(HalfRegister, Bytes) bytes;
    memcpy(&bytes, from, sizeof bytes);
    return ON_X86((Shorts)X86(cvtepu8_epi16)(bytes), __builtin_convertvector(bytes, Shorts));
}

static inline void put_levels(Shorts a, uint8_t *to) {
#if defined(X86)
    Register bytes = pack_in_order((Register)a, (Register)a);
    memcpy(to, &bytes, LANES);
#else
    a = within_levels(a);
    for (int i = 0; i < LANES; i++)
        to[i] = (uint8_t)a[i];
#endif
}

/* Transpose the blocks of 8 x 8 that are side by side in eight vectors. */
static inline void transpose(Shorts rows[SIDE]) {
#if defined(X86)
    Register a[SIDE], b[SIDE];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = X86(unpacklo_epi16)((Register)rows[i], (Register)rows[i + 4]);
        a[2 * i + 1] = X86(unpackhi_epi16)((Register)rows[i], (Register)rows[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        b[2 * i] = X86(unpacklo_epi16)(a[i], a[i + 4]);
        b[2 * i + 1] = X86(unpackhi_epi16)(a[i], a[i + 4]);
    }
    for (int i = 0; i < 4; i++) {
        rows[2 * i] = (Shorts)X86(unpacklo_epi16)(b[i], b[i + 4]);
        rows[2 * i + 1] = (Shorts)X86(unpackhi_epi16)(b[i], b[i + 4]);
    }
#else
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < i; k++) {
            int16_t lower = rows[i][k];
            rows[i][k] = rows[k][i], rows[k][i] = lower;
        }
#endif
}
