/* Poisson noise of a camera (ISONoise) with counter-based numbers, by inversion: the count of a word is the number of
   increasing bounds that it exceeds. Bounds have 31 bits, signed; -1 is below every word, 2^31 - 1 above.

   tests/laws/noise_in_numpy.py defines every bit. */

#include "normals.h"
#include "planes.h"
#include "streams.h"

enum { BOUNDS = 8, MOST_TURNED = 50 }; /* degrees: the largest deviation of hues, which seldom wrap around the circle then */
static const float STILL = 0.49f / 255 / 4.2f; /* below that no level moves by a half: numbers end at 4.15 deviations */

/* The variance of the lightness of pixels, which is computed as the sum of the least and the greatest channel. */
static double variance_of(const uint8_t *from, int64_t pixels) {
    uint8_t colours[COLOURS][ACROSS];
    int64_t sum = 0, squares = 0;
    for (int64_t i = 0; i < pixels; i += ACROSS) {
        int32_t some = (int32_t)MIN(ACROSS, pixels - i), part = 0, part_of_squares = 0; /* 256 * 510^2 < 2^31 */
        take_apart(from + COLOURS * i, some, colours);
        for (int32_t k = 0; k < some; k++) {
            uint8_t r = colours[0][k], g = colours[1][k], b = colours[2][k];
            int32_t both = MAX(MAX(r, g), b) + MIN(MIN(r, g), b);
            part += both;
            part_of_squares += both * both;
        }
        sum += part;
        squares += part_of_squares;
    }
    double mean = (double)sum / (double)pixels;
    return MAX((double)squares / (double)pixels - mean * mean, 0);
}

/* The bounds of the counts of a Poisson distribution, as far as they matter; 0 if there are too many. */
static int bounds_of(double rate, double intensity, int32_t *to) {
    double part = exp(-rate), under = part;
    for (int k = 0; k < BOUNDS; k++)
        to[k] = INT32_MAX;
    for (int k = 0; k <= BOUNDS; k++) {
        double bound = rint(under * 0x1p31) - 1;
        if (bound >= INT32_MAX || k * intensity >= 1) /* no word exceeds it, or so many photons make white */
            return 1;
        if (k < BOUNDS)
            to[k] = (int32_t)bound;
        part *= rate / (k + 1);
        under += part;
    }
    return 0;
}

/* The photon counts of some words. */
static inline Floats photon_counts(Ints word, const int32_t *bounds) {
    Ints count = word ^ word;
    for (int n = 0; n < BOUNDS && bounds[n] != INT32_MAX; n++)
        count -= word > bounds[n];
    return floats(count);
}

static inline Floats distance(Floats a, float b) { return (Floats)((Ints)(a - b) & INT32_MAX); }

/* Levels between the darkest channel and the lightest, `range` above it, by position; positions outside of 0..1 are
   clipped. */
static inline void put_levels(Floats darkest, Floats range, Floats share, uint8_t *to) {
    const Floats none = {0};
    to_bytes(truncated(darkest + range * lesser(greater(share, none), none + 1.0f)), to);
}

/* The indices of those of `some` pixels, from number `first` on, whose words exceed a bound; returns how many. */
static inline int64_t select_pixels(Key key, uint32_t first, int64_t some, int32_t bound, int32_t *to) {
    int64_t count = 0;
    for (int64_t k = 0; k < some; k += 64) {
        uint64_t above = 0;
        for (int n = 0; n < 64; n += LANES)
            above |= (uint64_t)bits_of((Ints)(words_from(key, first + (uint32_t)(k + n)) >> 1) > bound) << n;
        for (above &= ~UINT64_C(0) >> MAX(64 - (some - k), 0); above; above &= above - 1)
            to[count++] = (int32_t)k + __builtin_ctzll(above);
    }
    return count;
}

/* Each photon adds `gain` of what a pixel lacks to white; the rate of photons is proportional to it, and to the
   deviation of lightness. Hues vary by color_shift * gain, in degrees. If that is little, most pixels stay unchanged:
   those with photons are gathered, changed and scattered. */
KERNEL(iso_noise)(int64_t key, double color_shift, double gain, const uint8_t *from, uint8_t *to, int64_t pixels) {
    const Key counts = key_of(key), hues = key_of((int64_t)hash_with(hash_with(GOLDEN, (uint64_t)key), 1));
    const float intensity = (float)gain, shift = (float)(color_shift * gain / 60); /* in sixths of the circle */
    int32_t bounds[BOUNDS];
    if (!(color_shift * gain <= MOST_TURNED) || !bounds_of(sqrt(variance_of(from, pixels)) / 510 * gain, gain, bounds))
        return REFUSED;
    uint8_t colours[COLOURS][ACROSS] = {{0}};
    int32_t numbers[SOME];
    float turns[SOME]; /* plus a full circle, 6, so that none is negative */
    const Floats none = {0};
    const int all = shift > STILL;
    for (int k = 0; k < SOME; k++)
        numbers[k] = k;
    for (int64_t i = 0; i < pixels; i += SOME) {
        int64_t some = MIN(SOME, pixels - i);
        const uint8_t *here = from + COLOURS * i;
        uint8_t *there = to + COLOURS * i;
        if (all) {
            some_numbers(hues, (uint32_t)i, 6.0f, shift, turns);
            take_apart(here, some, colours);
        } else {
            memcpy(there, here, (size_t)(COLOURS * some));
            some = select_pixels(counts, (uint32_t)i, some, bounds[0], numbers);
            for (int64_t k = 0; k < some; k++)
                for (int c = 0; c < COLOURS; c++)
                    colours[c][k] = here[COLOURS * numbers[k] + c];
        }
        for (int64_t k = 0; k < some; k += LANES) {
            Floats r = floats(from_bytes(colours[0] + k)), g = floats(from_bytes(colours[1] + k));
            Floats b = floats(from_bytes(colours[2] + k)), turn;
            Words number;
            memcpy(&number, numbers + k, sizeof number);
            number += (uint32_t)i;
            if (all)
                memcpy(&turn, turns + k, sizeof turn);
            else
                turn = normals_at(hues, number, 6.0f, shift);
            Floats most = greater(greater(r, g), b), least = lesser(lesser(r, g), b), range = most - least;
            Floats light = (most + least) * 0.5f, dark = 255.0f - light;
            Floats more = photon_counts((Ints)(hashed(counts, number) >> 1), bounds) * intensity;
            Floats lighter = lesser(light + more * dark, none + 255.0f), left = lesser(lighter, 255.0f - lighter);
            Floats room = greater(lesser(light, dark), none + 0.5f), some_range = greater(range, none + 1.0f);
            Floats inverse = 1.0f / (some_range * room); /* one division instead of two */
            Ints red = most == r, green = most == g;
            Floats difference = choose(red, g - b, choose(green, b - r, r - g));
            Floats hue = difference * (inverse * room) + (choose(red, none, choose(green, none + 2.0f, none + 4.0f)) + turn);
            hue -= floats(truncated(hue * (1.0f / 6.0f))) * 6.0f;
            range = range * left * (inverse * some_range);
            Floats darkest = lighter - range * 0.5f + 0.5f; /* plus a half, since fractions are truncated */
            put_levels(darkest, range, distance(hue, 3.0f) - 1.0f, colours[0] + k); /* red is at both ends */
            put_levels(darkest, range, 2.0f - distance(hue, 2.0f), colours[1] + k);
            put_levels(darkest, range, 2.0f - distance(hue, 4.0f), colours[2] + k);
        }
        if (all)
            put_together(colours, some, there);
        else
            for (int64_t k = 0; k < some; k++)
                for (int c = 0; c < COLOURS; c++)
                    there[COLOURS * numbers[k] + c] = colours[c][k];
    }
    return DONE;
}
