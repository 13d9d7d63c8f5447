/* Colours of uint8 RGB pictures, bit for bit as OpenCV and albumentations compute them.

   What OpenCV does differs from one processor to another: it works through a row `lanes` pixels at a time and drops
   fractions there, and rounds in what is left of the row; and where the processor has fused multiply-add, it uses it.
   compiler/kernels/ finds out which (`lanes`, `fused`), and holds the result to OpenCV's before it uses it. */

#include "planes.h"
#include "rounding.h"

/* What is added to hue, 0..179, round the circle, and to saturation and value, which stay within 0..255. */
typedef struct {
    int32_t hue, saturation, value;
} Shift;

static inline int32_t to_level(float x, int rounds) { return rounds ? nearest(x * 255.0f) : (int32_t)(x * 255.0f); }

/* Planes of red, green and blue through hue, saturation and value. OpenCV's uint8 hue counts steps of two degrees.

   Three passes, the first and the last over narrow numbers, of which a register holds more. */
static inline void turn(uint8_t (*restrict room)[ACROSS], int64_t count, Shift by, int rounds, int fused) {
    uint8_t most[ACROSS], range[ACROSS], levels[4][ACROSS], sectors[ACROSS];
    int16_t sixths[ACROSS]; /* of the circle, times `range` */
    for (int64_t x = 0; x < count; x++) {
        uint8_t red = room[0][x], green = room[1][x], blue = room[2][x];
        uint8_t high = MAX(MAX(red, green), blue), wide = (uint8_t)(high - MIN(MIN(red, green), blue));
        int16_t of_blue = (int16_t)(red - green + 4 * wide), of_green = (int16_t)(blue - red + 2 * wide);
        int16_t others = high == green ? of_green : of_blue;
        sixths[x] = high == red ? (int16_t)(green - blue) : others;
        most[x] = high, range[x] = wide;
    }
    for (int64_t x = 0; x < count; x++) {
        /* 255 / most and 30 / range, times 4096: two shares by one division, rounded to the same whole numbers. All
           that is below 2^24 is exact in float. */
        float high = (float)MAX(most[x], 1), wide = (float)MAX(range[x], 1), both = 1.0f / (high * wide);
        float share = whole(wide * both * 1044480.0f), part = whole(high * both * 122880.0f);
        int32_t saturation = (int32_t)(((float)range[x] * share + 2048.0f) * (1.0f / 4096.0f));
        int32_t hue = (int32_t)(((float)sixths[x] * part + (2048.0f + 180 * 4096.0f)) * (1.0f / 4096.0f)) + by.hue - 180;
        hue += ((hue >> 31) & 180) - (~((hue - 180) >> 31) & 180);
        saturation = within(saturation + by.saturation) & -(saturation > 0); /* what is grey stays grey */
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
        uint8_t is[6]; /* all ones or zeros: a branch would keep compilers from vectorising */
        for (int32_t sector = 0; sector < 6; sector++)
            is[sector] = (uint8_t)-(k == sector);
        room[0][x] = (full & (is[0] | is[5])) | (down & is[1]) | (low & (is[2] | is[3])) | (up & is[4]);
        room[1][x] = (up & is[0]) | (full & (is[1] | is[2])) | (down & is[3]) | (low & (is[4] | is[5]));
        room[2][x] = (low & (is[0] | is[1])) | (up & is[2]) | (full & (is[3] | is[4])) | (down & is[5]);
    }
}

static void turn_some(uint8_t (*restrict room)[ACROSS], int64_t count, Shift by, int rounds, int fused) {
    if (fused && rounds)
        turn(room, count, by, 1, 1);
    else if (fused)
        turn(room, count, by, 0, 1);
    else
        turn(room, count, by, rounds, 0);
}

/* Hue, saturation and value shifted.

   source, target: rows x columns x 3 uint8, each row behind the other; target may be source
   hue: 0..179; saturation, value: -255..255
   lanes: pixels that OpenCV takes at a time; fused: whether it fuses */
KERNEL(hsv)(const uint8_t *source, int64_t rows, int64_t columns, int32_t hue, int32_t saturation, int32_t value,
            int64_t lanes, int32_t fused, uint8_t *target) {
    if (rows < 0 || columns < 0 || hue < 0 || hue >= 180 || lanes < 1)
        return REFUSED;
    Shift by = {hue, MIN(MAX(saturation, -255), 255), MIN(MAX(value, -255), 255)};
    uint8_t room[COLOURS][ACROSS];
    int64_t body = columns - columns % lanes;
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0, some; x < columns; x += some) {
            some = MIN(ACROSS, (x < body ? body : columns) - x);
            take_apart(source + 3 * (y * columns + x), some, room);
            turn_some(room, some, by, x >= body, fused);
            put_together(room, some, target + 3 * (y * columns + x));
        }
    return DONE;
}

/* Luma of a pixel as OpenCV has it: whole numbers below 2^24, which float has. */
static inline int32_t luma(uint8_t red, uint8_t green, uint8_t blue) {
    float sum = (float)red * 9798.0f + (float)green * 19235.0f + (float)blue * 3735.0f + 16384.0f;
    return (int32_t)(sum * (1.0f / 32768.0f));
}

/* The sum of the luma of `count` pixels. */
KERNEL(luma_sum)(const uint8_t *source, int64_t count, int64_t *sum) {
    uint8_t room[COLOURS][ACROSS];
    int64_t total = 0;
    if (count < 0)
        return REFUSED;
    for (int64_t at = 0; at < count; at += ACROSS) {
        int64_t some = MIN(ACROSS, count - at);
        int32_t part = 0;
        take_apart(source + 3 * at, some, room);
        for (int64_t x = 0; x < some; x++)
            part += luma(room[0][x], room[1][x], room[2][x]);
        total += part;
    }
    *sum = total;
    return DONE;
}

static inline void away(uint8_t (*restrict room)[ACROSS], int64_t count, float own, float grey, int fused) {
    for (int64_t x = 0; x < count; x++) {
        uint8_t red = room[0][x], green = room[1][x], blue = room[2][x];
        float of_luma = (float)luma(red, green, blue) * grey;
        room[0][x] = (uint8_t)within(nearest(times_add((float)red, own, of_luma, fused)));
        room[1][x] = (uint8_t)within(nearest(times_add((float)green, own, of_luma, fused)));
        room[2][x] = (uint8_t)within(nearest(times_add((float)blue, own, of_luma, fused)));
    }
}

/* Every pixel times `own` plus its luma times `grey`; target may be source. */
KERNEL(saturate)(const uint8_t *source, int64_t count, float own, float grey, int32_t fused, uint8_t *target) {
    uint8_t room[COLOURS][ACROSS];
    if (count < 0 || !(own >= -4096 && own <= 4096 && grey >= -4096 && grey <= 4096))
        return REFUSED;
    for (int64_t at = 0; at < count; at += ACROSS) {
        int64_t some = MIN(ACROSS, count - at);
        take_apart(source + 3 * at, some, room);
        if (fused)
            away(room, some, own, grey, 1);
        else
            away(room, some, own, grey, 0);
        put_together(room, some, target + 3 * at);
    }
    return DONE;
}
