/* Conversion between RGB and hue, lightness and saturation in float32, with the bits of OpenCV.

   OpenCV works through a row some pixels at a time, and through the rest of the row in another order, with other last
   bits. It uses fused multiply-add in both where the processor has it. ops/opencv_variants.py finds out how many
   pixels that are, and whether it fuses. */

#pragma once

#include "planes.h"

/* Planes of red, green and blue, or of hue, lightness and saturation. */
typedef float Planes[COLOURS][ACROSS];

/* How OpenCV processes some pixels. */
typedef struct {
    int left_over; /* whether they are the rest of a row */
    int fused;
} Way;

static inline float plus(float a, float b, float c, int fused) { return fused ? __builtin_fmaf(a, b, c) : a * b + c; }

/* Convert red, green and blue in 0..1 to hue in 0..circle, lightness and saturation. */
static inline __attribute__((always_inline)) void to_hls(Planes p, int64_t count, float circle, Way way) {
    const float part = circle / 360.0f;
    for (int64_t x = 0; x < count; x++) {
        float red = p[0][x], green = p[1][x], blue = p[2][x];
        float most = MAX(MAX(red, green), blue), least = MIN(MIN(red, green), blue), range = most - least;
        float both = most + least, light = both * 0.5f, rest = way.left_over ? 2.0f - most - least : 2.0f - both;
        float saturation = range / (light < 0.5f ? both : rest), share = 60.0f / range;
        float of_red = plus(green - blue, share, green < blue ? 360.0f : 0.0f, way.fused && !way.left_over);
        float of_green = plus(blue - red, share, 120.0f, way.fused), of_blue = plus(red - green, share, 240.0f, way.fused);
        float others = most == green ? of_green : of_blue, hue = (most == red ? of_red : others) * part;
        int coloured = range > 1.1920928955078125e-07f;
        p[0][x] = coloured ? hue : 0.0f, p[1][x] = light, p[2][x] = coloured ? saturation : 0.0f;
    }
}

/* Convert back; hues beyond the circle, below 2^31 sixths of it, are handled as in OpenCV. */
static inline __attribute__((always_inline)) void from_hls(Planes p, int64_t count, float circle, Way way) {
    const float sixths = 6.0f / circle;
    for (int64_t x = 0; x < count; x++) {
        float light = p[1][x], saturation = p[2][x], product = light * saturation;
        float hue = p[0][x] * sixths, whole = (float)(int32_t)hue, most, least, falling, rising;
        int32_t sector;
        if (way.left_over) {
            whole = whole > hue ? whole - 1.0f : whole;
            float along = hue - whole, dark = light * (1.0f + saturation);
            most = light <= 0.5f ? dark : plus(-light, saturation, light + saturation, way.fused);
            least = 2.0f * light - most;
            falling = plus(most - least, 1.0f - along, least, way.fused);
            rising = plus(most - least, along, least, way.fused);
            float turns = whole * (1.0f / 6.0f); /* turns round the circle, off by at most one */
            sector = (int32_t)whole - 6 * (int32_t)turns;
            sector += sector < 0 ? 6 : 0;
            sector -= sector >= 6 ? 6 : 0;
        } else {
            float along = hue - whole, away = light <= 0.5f ? product : saturation - product, twice = along + along;
            most = light + away, least = light - away;
            falling = plus(-away, twice, most, way.fused), rising = plus(away, twice, least, way.fused);
            sector = (int32_t)whole - 6 * (int32_t)(hue * (1.0f / 6.0f));
            sector = MAX(sector, 0);
        }
        float red = sector == 1 ? falling : sector == 4 ? rising : most;
        float green = sector == 0 ? rising : sector == 3 ? falling : most;
        float blue = sector == 2 ? rising : sector == 5 ? falling : most;
        p[0][x] = sector == 2 || sector == 3 ? least : red;
        p[1][x] = sector == 4 || sector == 5 ? least : green;
        p[2][x] = sector == 0 || sector == 1 ? least : blue;
    }
}
