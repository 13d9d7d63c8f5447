/* Conversion of pixels to luma and subsampled chroma, and back, in 16-bit fixed point, with the constants of JFIF.

   The first channel of a pixel is called blue here, the last red. */

#pragma once

#include "planes.h"
#include "shorts.h"

/* Convert a row of pixels to luma and two chroma channels. */
static void to_ycc(const uint8_t *row, int64_t columns, uint8_t *luma, uint8_t *to_blue, uint8_t *to_red) {
    const int32_t middle = (128 << 16) - 1;
    uint8_t planes[COLOURS][ACROSS];
    for (int64_t left = 0, some; left < columns; left += some) {
        some = MIN(ACROSS, columns - left);
        take_apart(row + COLOURS * left, some, planes);
        for (int64_t k = 0, x = left; k < some; k += LANES, x += LANES) {
            Shorts blue = levels(planes[0] + k), green = levels(planes[1] + k), red = levels(planes[2] + k);
            Two red_green = both(red, green), blue_green = both(blue, green);
            Sums y = plus(weighed(red_green, 19595, 38470 - 16384), weighed(blue_green, 7471, 16384));
            Sums u = minus(weighed(red_green, -11059, -21709), weighed(blue_green, -32768, 0));
            Sums v = minus(weighed(blue_green, -5329, -27439), weighed(red_green, -32768, 0));
            put_levels(narrowed(y, 16), luma + x);
            put_levels(narrowed(raised(u, middle), 16), to_blue + x);
            put_levels(narrowed(raised(v, middle), 16), to_red + x);
        }
    }
}

static inline Halves bytes(const uint8_t *from) {
    Halves result;
    memcpy(&result, from, sizeof result);
    return result;
}

static inline Shorts shorts(const int16_t *from) {
    Shorts result;
    memcpy(&result, from, sizeof result);
    return result;
}

/* Subsample two rows of chroma to one of half the width; halves are rounded up and down in turn. */
static void halve(const uint8_t *upper, const uint8_t *lower, int64_t columns, uint8_t *to) {
    Halves in_turn;
    for (int i = 0; i < LANES; i++)
        in_turn[i] = 1 + i % 2;
    for (int64_t x = 0; x < columns; x += LANES) {
        Halves a = bytes(upper + 2 * x), b = bytes(lower + 2 * x);
        put_levels((Shorts)(((a & 255) + (a >> 8) + (b & 255) + (b >> 8) + in_turn) >> 2), to + x);
    }
}

/* Mix three parts of one row and one of another, and repeat the number at each end. */
static void mix(const uint8_t *near, const uint8_t *far, int64_t columns, int16_t *sums) {
    for (int64_t x = 0; x < columns; x += LANES) {
        Shorts result = levels(near + x) * 3 + levels(far + x);
        memcpy(sums + x, &result, sizeof result);
    }
    sums[-1] = sums[0], sums[columns] = sums[columns - 1];
}

/* Chroma, less 128, of every second pixel of 2 * LANES columns. After the last column sums of arbitrary bytes may
   wrap. */
static inline Shorts between(Shorts nearer, Shorts other, uint16_t half) {
    return ((Shorts)((Halves)nearer * 3 + (Halves)other + half) >> 4) - 128;
}

static inline Shorts share(Shorts colour, int16_t weight) { return (high_part(colour + colour, all(weight)) + 1) >> 1; }

static inline void half_from_ycc(Shorts luma, Shorts to_blue, Shorts to_red, Shorts result[COLOURS]) {
    result[0] = within_levels(luma + to_blue + to_blue + share(to_blue, 116130 - (2 << 16)));
    result[1] = within_levels(luma - to_red + narrowed(weighed(both(to_blue, to_red), -22554, 65536 - 46802), 16));
    result[2] = within_levels(luma + to_red + share(to_red, 91881 - 65536));
}

/* Convert a row of luma and two chroma rows of half the width, mixed vertically, to pixels; chroma is mixed `reach`
   columns far. */
static void from_ycc(const uint8_t *luma, const int16_t *to_blue, const int16_t *to_red, int64_t columns, int64_t reach,
                 uint8_t *to) {
    uint8_t planes[COLOURS][ACROSS];
    for (int64_t left = 0, some; left < columns; left += some) {
        some = MIN(ACROSS, columns - left);
        for (int64_t k = 0, x = left / 2; k < some; k += 2 * LANES, x += LANES) {
            Halves y = bytes(luma + 2 * x);
            Shorts u = shorts(to_blue + x), v = shorts(to_red + x), even[COLOURS], odds[COLOURS];
            half_from_ycc((Shorts)(y & 255), between(u, shorts(to_blue + x - reach), 8),
                      between(v, shorts(to_red + x - reach), 8), even);
            half_from_ycc((Shorts)(y >> 8), between(u, shorts(to_blue + x + reach), 7),
                      between(v, shorts(to_red + x + reach), 7), odds);
            for (int c = 0; c < COLOURS; c++) {
                Shorts pairs = even[c] | odds[c] << 8;
                memcpy(planes[c] + k, &pairs, sizeof pairs);
            }
        }
        put_together(planes, some, to + COLOURS * left);
    }
}
