/* Pixels as luma and two colours of half the width and height, and back: 16 bits behind the point, as JFIF has them.

   Of pixels the first channel is called blue, the last red. */

#pragma once

#include "ops.h"
#include "shorts.h"


/* Reds with greens, and blues with greens, of LANES pixels; 4 bytes behind them are read. */
static inline void pixels(const uint8_t *from, Two *red_green, Two *blue_green) {
#if defined(__AVX2__)
    const __m128i reds = _mm_setr_epi8(2, -1, 1, -1, 5, -1, 4, -1, 8, -1, 7, -1, 11, -1, 10, -1);
    const __m128i blues = _mm_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1);
    Shorts half[2];
    for (int i = 0; i < 2; i++) {
        __m128i some[BLOCKS];
        for (int k = 0; k < BLOCKS; k++)
            some[k] = _mm_loadu_si128((const __m128i *)(from + 24 * k + 12 * i));
#if defined(__AVX512BW__)
        __m512i four = _mm512_inserti32x4(_mm512_castsi128_si512(some[0]), some[1], 1);
        half[i] = (Shorts)_mm512_inserti32x4(_mm512_inserti32x4(four, some[2], 2), some[3], 3);
    }
    Register r = _mm512_broadcast_i32x4(reds), b = _mm512_broadcast_i32x4(blues);
#else
        half[i] = (Shorts)_mm256_inserti128_si256(_mm256_castsi128_si256(some[0]), some[1], 1);
    }
    Register r = _mm256_broadcastsi128_si256(reds), b = _mm256_broadcastsi128_si256(blues);
#endif
    red_green->low = (Shorts)X86(shuffle_epi8)((Register)half[0], r);
    red_green->high = (Shorts)X86(shuffle_epi8)((Register)half[1], r);
    blue_green->low = (Shorts)X86(shuffle_epi8)((Register)half[0], b);
    blue_green->high = (Shorts)X86(shuffle_epi8)((Register)half[1], b);
#else
    Shorts blue, green, red;
    for (int i = 0; i < LANES; i++) {
        blue[i] = from[3 * i];
        green[i] = from[3 * i + 1];
        red[i] = from[3 * i + 2];
    }
    *red_green = both(red, green), *blue_green = both(blue, green);
#endif
}

/* A row of pixels as luma and two colours. */
static void take(const uint8_t *row, int64_t columns, uint8_t *luma, uint8_t *to_blue, uint8_t *to_red) {
    const int32_t middle = (128 << 16) - 1;
    for (int64_t x = 0; x < columns; x += LANES) {
        Two red_green, blue_green;
        pixels(row + 3 * x, &red_green, &blue_green);
        Sums y = plus(weighed(red_green, 19595, 38470 - 16384), weighed(blue_green, 7471, 16384));
        Sums u = minus(weighed(red_green, -11059, -21709), weighed(blue_green, -32768, 0));
        Sums v = minus(weighed(blue_green, -5329, -27439), weighed(red_green, -32768, 0));
        put_levels(narrowed(y, 16), luma + x);
        put_levels(narrowed(raised(u, middle), 16), to_blue + x);
        put_levels(narrowed(raised(v, middle), 16), to_red + x);
    }
}

static inline Halves bytes(const uint8_t *from) {
    Halves made;
    memcpy(&made, from, sizeof made);
    return made;
}

static inline Shorts shorts(const int16_t *from) {
    Shorts made;
    memcpy(&made, from, sizeof made);
    return made;
}

/* Two rows of a colour as one of half the width; halves are rounded up and down in turn. */
static void halve(const uint8_t *upper, const uint8_t *lower, int64_t columns, uint8_t *to) {
    Halves in_turn;
    for (int i = 0; i < LANES; i++)
        in_turn[i] = 1 + i % 2;
    for (int64_t x = 0; x < columns; x += LANES) {
        Halves a = bytes(upper + 2 * x), b = bytes(lower + 2 * x);
        put_levels((Shorts)(((a & 255) + (a >> 8) + (b & 255) + (b >> 8) + in_turn) >> 2), to + x);
    }
}

/* Three parts of one row and one of another, with a number more on each side. */
static void mix(const uint8_t *near, const uint8_t *far, int64_t columns, int16_t *sums) {
    for (int64_t x = 0; x < columns; x += LANES) {
        Shorts made = levels(near + x) * 3 + levels(far + x);
        memcpy(sums + x, &made, sizeof made);
    }
    sums[-1] = sums[0], sums[columns] = sums[columns - 1];
}

/* 2 LANES pixels, whose blues, greens and reds are bytes in their order. */
static inline void put_pixels(const Halves planes[COLOURS], uint8_t *to) {
#if defined(X86)
    /* Byte k of 48 is colour k % 3 of pixel k / 3: where byte j of every 16 comes from is the same in each part. */
    const __m128i order[COLOURS] = {_mm_setr_epi8(0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5),
                                    _mm_setr_epi8(5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10),
                                    _mm_setr_epi8(10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15)};
    const __m128i first = _mm_setr_epi8(-1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1);
    const __m128i second = _mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0);
    Register turned[COLOURS];
    for (int c = 0; c < COLOURS; c++)
        turned[c] = X86(shuffle_epi8)((Register)planes[c], repeat(order[c]));
    for (int p = 0; p < COLOURS; p++) {
        Register some = select_bytes(repeat(first), turned[p], turned[(p + 2) % 3]);
        union {
            Register all;
            __m128i parts[BLOCKS];
        } bytes = {select_bytes(repeat(second), turned[(p + 1) % 3], some)};
        for (int k = 0; k < BLOCKS; k++)
            _mm_storeu_si128((__m128i *)(to + 48 * k + 16 * p), bytes.parts[k]);
    }
#else
    uint8_t each[COLOURS][2 * LANES];
    memcpy(each, planes, sizeof each);
    for (int i = 0; i < 2 * LANES; i++)
        for (int c = 0; c < COLOURS; c++)
            to[3 * i + c] = each[c][i];
#endif
}

/* Colours of the pixels of LANES columns, every second one, less 128. Behind the last column anything may lie: sums of
   that may wrap round. */
static inline Shorts between(Shorts nearer, Shorts other, uint16_t half) {
    return ((Shorts)((Halves)nearer * 3 + (Halves)other + half) >> 4) - 128;
}

static inline Shorts share(Shorts colour, int16_t weight) { return (high_part(colour + colour, all(weight)) + 1) >> 1; }

static inline void give_half(Shorts luma, Shorts to_blue, Shorts to_red, Shorts made[COLOURS]) {
    made[0] = within_levels(luma + to_blue + to_blue + share(to_blue, 116130 - (2 << 16)));
    made[1] = within_levels(luma - to_red + narrowed(weighed(both(to_blue, to_red), -22554, 65536 - 46802), 16));
    made[2] = within_levels(luma + to_red + share(to_red, 91881 - 65536));
}

/* A row of luma and two colours of half its width, mixed from rows, as pixels; colours reach `reach` columns far. */
static void give(const uint8_t *luma, const int16_t *to_blue, const int16_t *to_red, int64_t columns, int64_t reach,
                 uint8_t *to) {
    for (int64_t x = 0; 2 * x < columns; x += LANES) {
        Halves y = bytes(luma + 2 * x), planes[COLOURS];
        Shorts u = shorts(to_blue + x), v = shorts(to_red + x), even[COLOURS], odds[COLOURS];
        give_half((Shorts)(y & 255), between(u, shorts(to_blue + x - reach), 8),
                  between(v, shorts(to_red + x - reach), 8), even);
        give_half((Shorts)(y >> 8), between(u, shorts(to_blue + x + reach), 7),
                  between(v, shorts(to_red + x + reach), 7), odds);
        for (int c = 0; c < COLOURS; c++)
            planes[c] = (Halves)(even[c] | odds[c] << 8);
        if (columns - 2 * x >= 2 * LANES)
            put_pixels(planes, to + 6 * x);
        else {
            uint8_t some[2 * COLOURS * LANES];
            put_pixels(planes, some);
            memcpy(to + 6 * x, some, (size_t)(COLOURS * (columns - 2 * x)));
        }
    }
}
