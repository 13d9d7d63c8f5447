/* Conversion between RGB and Lab, level by level, with the bits of OpenCV: integers and integer tables.

   All sums on the way to Lab are below 2^24, and so exact in float. */

#pragma once

#include "lanes.h"
#include "layout.h"
#include "planes.h"

typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));

static inline Ints from_halves(const uint16_t *from) {
    Halves some;
    memcpy(&some, from, sizeof some);
    return __builtin_convertvector(some, Ints);
}

static inline void to_halves(Ints a, uint16_t *to) {
    Halves some = __builtin_convertvector(a, Halves);
    memcpy(to, &some, sizeof some);
}

/* Look up a table of 256 entries: in registers it takes an eighth of the time of a gather. Up to ACROSS entries of
   `at` may be read, and of `to` written, beyond `count`. */
static inline void look_up_levels(const uint16_t *restrict table, const uint8_t *restrict at, int64_t count,
                                  uint16_t *restrict to) {
#if defined(__AVX512BW__)
    __m512i parts[8];
    for (int i = 0; i < 8; i++)
        parts[i] = _mm512_loadu_si512(table + 32 * i);
    for (int64_t x = 0; x < count; x += 32) {
        __m512i places = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(at + x))), found[4];
        __mmask32 odd = _mm512_test_epi16_mask(places, _mm512_set1_epi16(64));
        for (int i = 0; i < 4; i++)
            found[i] = _mm512_permutex2var_epi16(parts[2 * i], places, parts[2 * i + 1]);
        __m512i low = _mm512_mask_blend_epi16(odd, found[0], found[1]);
        __m512i high = _mm512_mask_blend_epi16(odd, found[2], found[3]);
        __mmask32 upper = _mm512_test_epi16_mask(places, _mm512_set1_epi16(128));
        _mm512_storeu_si512(to + x, _mm512_mask_blend_epi16(upper, low, high));
    }
#else
    LOOK_UP(uint16_t, table, at, count, to);
#endif
}

/* Convert planes of red, green and blue to L, a and b, in place. */
static inline void to_lab(const Lab *lab, int64_t count, uint8_t (*planes)[ACROSS]) {
    uint16_t light[COLOURS][ACROSS] = {{0}};
    for (int32_t c = 0; c < COLOURS; c++)
        look_up_levels(lab->light, planes[c], count, light[c]);
    for (int64_t x = 0; x < count; x += LANES) {
        Floats red = floats(from_halves(light[0] + x)), green = floats(from_halves(light[1] + x));
        Floats blue = floats(from_halves(light[2] + x));
        for (int32_t c = 0; c < COLOURS; c++) {
            const float *weights = lab->there + 3 * c;
            Floats sum = red * weights[0] + green * weights[1] + blue * weights[2] + 2048.0f;
            to_halves(truncated(sum * (1.0f / 4096.0f)), light[c] + x);
        }
    }
    for (int32_t c = 0; c < COLOURS; c++)
        LOOK_UP(uint16_t, lab->roots, light[c], count, light[c]);
    for (int64_t x = 0; x < count; x += LANES) {
        Floats fx = floats(from_halves(light[0] + x)), fy = floats(from_halves(light[1] + x));
        Floats fz = floats(from_halves(light[2] + x));
        /* The constants contain 16384, which rounds, and 128 * 32768, the zero of a and b. */
        to_bytes(truncated((fy * 296.0f - 1320550.0f) * (1.0f / 32768.0f)), planes[0] + x);
        to_bytes(truncated(((fx - fy) * 500.0f + 4210688.0f) * (1.0f / 32768.0f)), planes[1] + x);
        to_bytes(truncated(((fy - fz) * 200.0f + 4210688.0f) * (1.0f / 32768.0f)), planes[2] + x);
    }
}

/* X or Z from its root, both times 2^14. Linear near black: a division by 841 that truncates. */
static inline Ints cube(Ints v) {
    Ints result = ((v * v) >> 14) * v >> 14, low = v <= 3390;
    if (any(low)) {
        Floats rise = floats(v * 108);
        Floats half = (Floats)(((Ints)rise & INT32_MIN) | 0x3f000000);
        Ints line = truncated((rise + half) * (1.0f / 841.0f)) - 290;
        result = (result & ~low) | (line & low);
    }
    return result;
}

/* The index in `levels` of the linear light of X, Y and Z. */
static inline Ints light_of(Ints x, Ints y, Ints z, const int32_t *weights) {
    Ints light = (weights[0] * x + weights[1] * y + weights[2] * z + 8192) >> 14;
    Ints most = light > 4095;
    light = (light & ~most) | (4095 & most);
    return light & ~(light >> 31);
}

/* Convert planes of L, a and b to red, green and blue, in place. */
static inline void from_lab(const Lab *lab, int64_t count, uint8_t (*planes)[ACROSS]) {
    uint16_t light[COLOURS][ACROSS], ys[ACROSS] = {0}, roots[ACROSS] = {0};
    look_up_levels(lab->ys, planes[0], count, ys);
    look_up_levels(lab->root_ys, planes[0], count, roots);
    for (int64_t x = 0; x < count; x += LANES) {
        Ints y = from_halves(ys + x), root_y = from_halves(roots + x);
        Ints of_a = ((from_bytes(planes[1] + x) * (5 * 53687) + 128) >> 13) - 4194;
        Ints of_b = ((from_bytes(planes[2] + x) * 41943 + 16) >> 9) - 10484;
        Ints cx = cube(root_y + of_a), cz = cube(root_y - of_b);
        for (int32_t c = 0; c < COLOURS; c++)
            to_halves(light_of(cx, y, cz, lab->back + 3 * c), light[c] + x);
    }
    for (int32_t c = 0; c < COLOURS; c++)
        LOOK_UP(uint8_t, lab->levels, light[c], count, planes[c]);
}
