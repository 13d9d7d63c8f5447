/* Noise of counted photons, of our own numbers: as cameras show it (ISONoise), and as light itself does (ShotNoise).

   Beside tests/laws/noise_in_numpy.py, which defines every bit of it. A word is above so many of a row of rising bounds:
   that is its count. Bounds are 31 bits, signed; -1 is below every word, 2^31 - 1 above. */

#include "normals.h"
#include "planes.h"

enum { BOUNDS = 8, GRAIN = 16 };

/* The sum, and the sum of squares, of least and greatest of each pixel's three colours. */
KERNEL(lightness)(const uint8_t *from, int64_t pixels, int64_t *sums) {
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
    sums[0] = sum;
    sums[1] = squares;
    return DONE;
}

/* How many photons the pixels from number `first` on get. */
static inline Floats counted(Key key, uint32_t first, const int32_t *bounds) {
    Ints word = (Ints)(words_from(key, first) >> 1), count = word ^ word;
    for (int n = 0; n < BOUNDS && bounds[n] != INT32_MAX; n++)
        count -= word > bounds[n];
    return floats(count);
}

static inline Floats distance(Floats a, float b) { return (Floats)((Ints)(a - b) & INT32_MAX); }

/* Levels between the darkest colour and the lightest, a range away, by how far they are: 0 to 1, and beyond that too. */
static inline void put_levels(Floats darkest, Floats range, Floats share, uint8_t *to) {
    const Floats none = {0};
    to_bytes(truncated(darkest + range * lesser(greater(share, none), none + 1.0f)), to);
}

/* Photons make pixels lighter by intensity each, of what is missing to white, and hues vary by shift (60 degrees). */
KERNEL(iso_noise)(int64_t counts, int64_t hues, const int32_t *bounds, float intensity, float shift, const uint8_t *from,
                  uint8_t *to, int64_t pixels) {
    uint8_t colours[COLOURS][ACROSS] = {{0}};
    float turns[SOME];
    const Floats none = {0};
    for (int64_t i = 0; i < pixels; i += SOME) {
        int64_t some = MIN(SOME, pixels - i);
        some_numbers(key_of(hues), (uint32_t)i, 0, 6.0f, shift, turns); /* a circle, which is 6, more: none is below zero */
        take_apart(from + COLOURS * i, some, colours);
        for (int32_t k = 0; k < some; k += LANES) {
            Floats r = floats(from_bytes(colours[0] + k)), g = floats(from_bytes(colours[1] + k));
            Floats b = floats(from_bytes(colours[2] + k)), turn;
            memcpy(&turn, turns + k, sizeof turn);
            Floats most = greater(greater(r, g), b), least = lesser(lesser(r, g), b), range = most - least;
            Floats light = (most + least) * 0.5f, dark = 255.0f - light;
            Floats more = counted(key_of(counts), (uint32_t)(i + k), bounds) * intensity;
            Floats lighter = lesser(light + more * dark, none + 255.0f), left = lesser(lighter, 255.0f - lighter);
            Floats room = greater(lesser(light, dark), none + 0.5f), some_range = greater(range, none + 1.0f);
            Floats inverse = 1.0f / (some_range * room); /* one division for two */
            Ints red = most == r, green = most == g;
            Floats difference = choose(red, g - b, choose(green, b - r, r - g));
            Floats hue = difference * (inverse * room) + (choose(red, none, choose(green, none + 2.0f, none + 4.0f)) + turn);
            hue -= floats(truncated(hue * (1.0f / 6.0f))) * 6.0f;
            range = range * left * (inverse * some_range);
            Floats darkest = lighter - range * 0.5f + 0.5f; /* a half more, as fractions are cut off */
            put_levels(darkest, range, distance(hue, 3.0f) - 1.0f, colours[0] + k); /* red lies at both ends */
            put_levels(darkest, range, 2.0f - distance(hue, 2.0f), colours[1] + k);
            put_levels(darkest, range, 2.0f - distance(hue, 4.0f), colours[2] + k);
        }
        put_together(colours, some, to + COLOURS * i);
    }
    return DONE;
}

/* Each level becomes the one that stands for its count; bounds: grain * GRAIN for each of 256 levels. */
KERNEL(shot_noise)(int64_t key, const int32_t *bounds, int32_t grains, const uint8_t *levels, const uint8_t *from,
                   uint8_t *to, int64_t count) {
    int32_t words[SOME];
    for (int64_t i = 0; i < count; i += SOME) {
        int64_t some = MIN(SOME, count - i);
        for (int k = 0; k < SOME; k += LANES) {
            Words made = words_from(key_of(key), (uint32_t)i + (uint32_t)k) >> 1;
            memcpy(words + k, &made, sizeof made);
        }
        for (int64_t k = 0; k < some; k++) {
            const int32_t *row = bounds + (int64_t)from[i + k] * grains * GRAIN;
            int32_t found = 0;
            for (int32_t n = 0; n < grains * GRAIN; n += LANES) {
                Ints part;
                memcpy(&part, row + n, sizeof part);
                found += how_many((Ints)(words[k] > part));
            }
            to[i + k] = levels[found];
        }
    }
    return DONE;
}
