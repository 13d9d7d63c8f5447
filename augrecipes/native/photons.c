/* Noise of counted photons, of our own numbers: as cameras show it (ISONoise), and as light itself does (ShotNoise).

   Beside tests/laws/noise_in_numpy.py, which defines every bit of it. A word is above so many of a row of rising bounds:
   that is its count. Bounds are 31 bits, signed; -1 is below every word, 2^31 - 1 above. */

#include "counters.h"

enum { COLOURS = 3, BOUNDS = 8, GRAIN = 16 };
static const float HALF_LEVELS = 12582912.0f; /* added and taken away again, it leaves the nearest whole number */

/* The sum, and the sum of squares, of least and greatest of each pixel's three colours. */
KERNEL(lightness)(const uint8_t *from, int64_t pixels, int64_t *sums) {
    int64_t sum = 0, squares = 0;
    for (int64_t i = 0; i < pixels; i += SOME) {
        int32_t some = (int32_t)MIN(SOME, pixels - i), part = 0, part_of_squares = 0; /* 512 * 510^2 < 2^31 */
        const uint8_t *pixel = from + COLOURS * i;
        for (int32_t k = 0; k < some; k++, pixel += COLOURS) {
            int32_t r = pixel[0], g = pixel[1], b = pixel[2];
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

static inline float within(float x, float most) { return x < 0.0f ? 0.0f : x > most ? most : x; }

/* A colour of a hue, how far it is from the darkest one: 0 to 1. */
static inline float coloured(float hue, float centre) {
    float x = hue - centre;
    return within(2.0f - (x < 0.0f ? -x : x), 1.0f);
}

static inline uint8_t level(float x) { return (uint8_t)(int32_t)(within(x, 255.0f) + HALF_LEVELS - HALF_LEVELS); }

/* Photons make pixels lighter by intensity each, of what is missing to white, and hues vary by shift (60 degrees). */
KERNEL(iso_noise)(int64_t counts, int64_t hues, const int32_t *bounds, const Piece *pieces, float intensity, float shift,
                  const uint8_t *from, uint8_t *to, int64_t pixels) {
    float turns[SOME], added[SOME];
    for (int64_t i = 0; i < pixels; i += SOME) {
        int32_t some = (int32_t)MIN(SOME, pixels - i);
        some_numbers(key_of(hues), (uint32_t)i, pieces, turns);
        for (int k = 0; k < SOME; k += LANES) {
            Ints word = (Ints)(words_from(key_of(counts), (uint32_t)i + (uint32_t)k) >> 1), count = word ^ word;
            for (int n = 0; n < BOUNDS; n++)
                count -= word > bounds[n];
            Floats made = __builtin_convertvector(count, Floats) * intensity;
            memcpy(added + k, &made, sizeof made);
        }
        const uint8_t *pixel = from + COLOURS * i;
        uint8_t *out = to + COLOURS * i;
        for (int32_t k = 0; k < some; k++) {
            float r = pixel[COLOURS * k], g = pixel[COLOURS * k + 1], b = pixel[COLOURS * k + 2];
            float most = MAX(MAX(r, g), b), least = MIN(MIN(r, g), b), range = most - least, some_range = MAX(range, 1.0f);
            float red = (g - b) / some_range, green = (b - r) / some_range + 2.0f, blue = (r - g) / some_range + 4.0f;
            float hue = most == r ? red : most == g ? green : blue;
            hue += turns[k] * shift;
            hue = hue < 0.0f ? hue + 6.0f : hue;
            hue = hue < 0.0f ? hue + 6.0f : hue;
            hue = hue >= 6.0f ? hue - 6.0f : hue;
            float light = (most + least) * 0.5f, lighter = light + added[k] * (255.0f - light);
            lighter = MIN(lighter, 255.0f);
            float workspace = MIN(light, 255.0f - light), left = MIN(lighter, 255.0f - lighter);
            range = range * left / MAX(workspace, 0.5f);
            float darkest = lighter - range * 0.5f;
            /* Red lies at both ends of the circle. */
            float near_red = coloured(hue, hue < 3.0f ? 0.0f : 6.0f);
            out[COLOURS * k] = level(darkest + range * near_red);
            out[COLOURS * k + 1] = level(darkest + range * coloured(hue, 2.0f));
            out[COLOURS * k + 2] = level(darkest + range * coloured(hue, 4.0f));
        }
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
