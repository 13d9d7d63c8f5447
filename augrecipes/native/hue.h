/* Hue, saturation and value of levels, with the bits of OpenCV: its uint8 hue is in steps of two degrees. */

#pragma once

#include "planes.h"
#include "rounding.h"

/* Shifts: of hue, 0..179, round the circle; of saturation and value, which are clipped to 0..255. */
typedef struct {
    int32_t hue, saturation, value;
} Shift;

static inline int32_t to_level(float x, int rounds) { return rounds ? nearest(x * 255.0f) : (int32_t)(x * 255.0f); }

/* Shift the hue, saturation and value of planes of red, green and blue.

   In three passes: the first and the last work on small integers, of which a register holds more. */
static inline void turn(uint8_t (*restrict planes)[ACROSS], int64_t count, Shift by, int rounds, int fused) {
    uint8_t most[ACROSS], range[ACROSS], levels[4][ACROSS], sectors[ACROSS];
    int16_t sixths[ACROSS]; /* sixths of the circle, times `range` */
    for (int64_t x = 0; x < count; x++) {
        uint8_t red = planes[0][x], green = planes[1][x], blue = planes[2][x];
        uint8_t high = MAX(MAX(red, green), blue), wide = (uint8_t)(high - MIN(MIN(red, green), blue));
        int16_t of_blue = (int16_t)(red - green + 4 * wide), of_green = (int16_t)(blue - red + 2 * wide);
        int16_t others = high == green ? of_green : of_blue;
        sixths[x] = high == red ? (int16_t)(green - blue) : others;
        most[x] = high, range[x] = wide;
    }
    for (int64_t x = 0; x < count; x++) {
        /* 255 / most and 30 / range, times 4096, by a single division and rounded to the same integers: all numbers
           below 2^24 are exact in float. */
        float high = (float)MAX(most[x], 1), wide = (float)MAX(range[x], 1), both = 1.0f / (high * wide);
        float share = whole(wide * both * 1044480.0f), part = whole(high * both * 122880.0f);
        int32_t saturation = (int32_t)(((float)range[x] * share + 2048.0f) * (1.0f / 4096.0f));
        int32_t hue = (int32_t)(((float)sixths[x] * part + (2048.0f + 180 * 4096.0f)) * (1.0f / 4096.0f)) + by.hue - 180;
        hue += ((hue >> 31) & 180) - (~((hue - 180) >> 31) & 180);
        saturation = within(saturation + by.saturation) & -(saturation > 0); /* grey stays grey */
        float s = (float)saturation * (1.0f / 255.0f), v = (float)within(most[x] + by.value) * (1.0f / 255.0f);
        float turned = (float)hue * (6.0f / 180.0f);
        int32_t sector = (int32_t)turned;
        float along = turned - (float)sector;
        levels[0][x] = (uint8_t)to_level(v, rounds);
        levels[1][x] = (uint8_t)to_level(v * (1.0f - s), rounds);
        levels[2][x] = (uint8_t)to_level(v * times_add(-s, along, 1.0f, fused), rounds);
        levels[3][x] = (uint8_t)to_level(v * times_add(-s, 1.0f - along, 1.0f, fused), rounds);
        sectors[x] = (uint8_t)sector;
    }
    for (int64_t x = 0; x < count; x++) {
        uint8_t full = levels[0][x], low = levels[1][x], down = levels[2][x], up = levels[3][x], k = sectors[x];
        uint8_t is[6]; /* masks: a branch would prevent vectorisation */
        for (int32_t sector = 0; sector < 6; sector++)
            is[sector] = (uint8_t)-(k == sector);
        planes[0][x] = (full & (is[0] | is[5])) | (down & is[1]) | (low & (is[2] | is[3])) | (up & is[4]);
        planes[1][x] = (up & is[0]) | (full & (is[1] | is[2])) | (down & is[3]) | (low & (is[4] | is[5]));
        planes[2][x] = (low & (is[0] | is[1])) | (up & is[2]) | (full & (is[3] | is[4])) | (down & is[5]);
    }
}

/* The region in which fractions are rounded, ends exclusive. */
typedef struct {
    int64_t left, top, right, bottom;
} Rounded;

/* The same for pixels from column `x` of row `y` on, without fused multiply-add. */
static inline void turn_from(uint8_t (*planes)[ACROSS], int64_t x, int64_t y, int64_t count, Shift by, const Rounded *where) {
    int inside = y >= where->top && y < where->bottom;
    int64_t from = inside ? MIN(MAX(where->left - x, 0), count) : count;
    int64_t to = inside ? MIN(MAX(where->right - x, from), count) : count;
    const int64_t ends[4] = {0, from, to, count};
    for (int part = 0; part < 3; part++)
        if (ends[part] < ends[part + 1])
            turn((uint8_t(*)[ACROSS])(planes[0] + ends[part]), ends[part + 1] - ends[part], by, part == 1, 0);
}
