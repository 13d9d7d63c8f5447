/* Colour operations on uint8 RGB images, with the bits of OpenCV and albumentations.

   OpenCV's bits depend on the processor: it works through a row `lanes` pixels at a time, where it drops fractions,
   and rounds in the rest of the row; and it uses fused multiply-add where the processor has it.
   ops/opencv_variants.py finds out which (`lanes`, `fused`), and make_program.py compares these kernels with it. */

#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("prefer-vector-width=512") /* 20 % faster hue */
#endif

#include <string.h>

#include "hue.h"
#include "shorts.h"

static void turn_some(uint8_t (*restrict planes)[ACROSS], int64_t count, Shift by, int rounds, int fused) {
    if (fused && rounds)
        turn(planes, count, by, 1, 1);
    else if (fused)
        turn(planes, count, by, 0, 1);
    else
        turn(planes, count, by, rounds, 0);
}

/* Shift hue, saturation and value.

   source, target: rows x columns x 3 uint8 without gaps; target may be source
   hue: 0..179; saturation, value: -255..255
   lanes: pixels that OpenCV processes together; fused: whether it uses fused multiply-add */
KERNEL(hsv)(const uint8_t *source, int64_t rows, int64_t columns, int32_t hue, int32_t saturation, int32_t value,
            int64_t lanes, int32_t fused, uint8_t *target) {
    if (rows < 0 || columns < 0 || hue < 0 || hue >= 180 || lanes < 1)
        return REFUSED;
    Shift by = {hue, MIN(MAX(saturation, -255), 255), MIN(MAX(value, -255), 255)};
    uint8_t planes[COLOURS][ACROSS];
    int64_t body = columns - columns % lanes;
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0, some; x < columns; x += some) {
            some = MIN(ACROSS, (x < body ? body : columns) - x);
            take_apart(source + 3 * (y * columns + x), some, planes);
            turn_some(planes, some, by, x >= body, fused);
            put_together(planes, some, target + 3 * (y * columns + x));
        }
    return DONE;
}

enum { RED = 9798, GREEN = 19235, BLUE = 3735, HALF = 1 << 14 }; /* in 1/2^15 */

/* Luma of a pixel with the bits of OpenCV. */
static inline int32_t luma(uint8_t red, uint8_t green, uint8_t blue) {
    return (red * RED + green * GREEN + blue * BLUE + HALF) >> 15;
}

/* The luma of many pixels; `to` may be one of the planes. */
static void lumas(uint8_t (*planes)[ACROSS], int64_t count, uint8_t *to) {
    for (int64_t x = 0; x < count; x += LANES) {
        Shorts red = levels(planes[0] + x), green = levels(planes[1] + x), blue = levels(planes[2] + x);
        put_levels(narrowed(plus(weighed(both(red, green), RED, GREEN), weighed(both(blue, blue), BLUE, 0)), 15), to + x);
    }
}

/* The sum of the luma of `count` pixels. */
KERNEL(luma_sum)(const uint8_t *source, int64_t count, int64_t *sum) {
    uint8_t planes[COLOURS][ACROSS];
    int64_t total = 0;
    if (count < 0)
        return REFUSED;
    for (int64_t at = 0; at < count; at += ACROSS) {
        int64_t some = MIN(ACROSS, count - at);
        uint16_t part = 0; /* ACROSS * 255 fits */
        take_apart(source + 3 * at, some, planes);
        lumas(planes, some, planes[0]);
        for (int64_t x = 0; x < some; x++)
            part = (uint16_t)(part + planes[0][x]);
        total += part;
    }
    *sum = total;
    return DONE;
}

/* Replace the three channels of every pixel by its luma; target may be source. */
KERNEL(grey)(const uint8_t *source, int64_t count, uint8_t *target) {
    uint8_t planes[COLOURS][ACROSS];
    if (count < 0)
        return REFUSED;
    for (int64_t at = 0; at < count; at += ACROSS) {
        int64_t some = MIN(ACROSS, count - at);
        take_apart(source + 3 * at, some, planes);
        lumas(planes, some, planes[0]);
        memcpy(planes[1], planes[0], ACROSS), memcpy(planes[2], planes[0], ACROSS);
        put_together(planes, some, target + 3 * at);
    }
    return DONE;
}

static inline void away(uint8_t (*restrict planes)[ACROSS], int64_t count, float own, float grey, int fused) {
    for (int64_t x = 0; x < count; x++) {
        uint8_t red = planes[0][x], green = planes[1][x], blue = planes[2][x];
        float of_luma = (float)luma(red, green, blue) * grey;
        planes[0][x] = (uint8_t)within(nearest(times_add((float)red, own, of_luma, fused)));
        planes[1][x] = (uint8_t)within(nearest(times_add((float)green, own, of_luma, fused)));
        planes[2][x] = (uint8_t)within(nearest(times_add((float)blue, own, of_luma, fused)));
    }
}

/* Every pixel times `own` plus its luma times `grey`; target may be source. */
KERNEL(saturate)(const uint8_t *source, int64_t count, float own, float grey, int32_t fused, uint8_t *target) {
    uint8_t planes[COLOURS][ACROSS];
    if (count < 0 || !(own >= -4096 && own <= 4096 && grey >= -4096 && grey <= 4096))
        return REFUSED;
    for (int64_t at = 0; at < count; at += ACROSS) {
        int64_t some = MIN(ACROSS, count - at);
        take_apart(source + 3 * at, some, planes);
        if (fused)
            away(planes, some, own, grey, 1);
        else
            away(planes, some, own, grey, 0);
        put_together(planes, some, target + 3 * at);
    }
    return DONE;
}
