/* Gaussian noise from a counter-based generator: a key and a count tell each number (counters.h, normals.h).

   tests/laws/noise_in_numpy.py defines every bit of it. */

#include "normals.h"

enum { CHANNELS = 4 };

typedef int16_t Shorts __attribute__((vector_size(4 * LANES)));

static inline float from_zero_to(float x, float most) { return x < 0.0f ? 0.0f : x > most ? most : x; }

/* Normal numbers, times deviation, plus mean. */
KERNEL(counter_numbers)(int64_t key, float mean, float deviation, float *out, int64_t count) {
    float made[SOME];
    for (int64_t i = 0; i < count; i += SOME) {
        float *to = count - i < SOME ? made : out + i;
        some_numbers(key_of(key), (uint32_t)i, mean, deviation, to);
        if (to == made)
            memcpy(out + i, made, (size_t)(count - i) * sizeof *out);
    }
    return DONE;
}

/* Numbers of pixels, each for so many values. */
#define SPREAD_OUT(name, type) \
    static inline void name(const type *made, int64_t count, int64_t each, type *out) { \
        if (each == 3) \
            for (int64_t k = 0; k < count; k++) \
                out[3 * k] = out[3 * k + 1] = out[3 * k + 2] = made[k]; \
        else if (each > 1) \
            for (int64_t k = 0; k < count; k++) \
                for (int64_t c = 0; c < each; c++) \
                    out[k * each + c] = made[k]; \
    }

SPREAD_OUT(spread_floats, float)
SPREAD_OUT(spread_levels, int16_t)

/* Of how many parts a level is made, 2^bits, and what normal numbers in them are multiplied with, and lie around: 16 bits
   each. bits is below 2 where they would be too few. */
typedef struct {
    int32_t bits;
    int16_t factor, middle;
} Parts;

static inline Parts parts_of(float mean, float deviation) {
    double most = fabs((double)mean) + 4.7 * (double)deviation; /* numbers end at 4.15, and the factor has 16 bits, too */
    Parts made = {0};
    while (made.bits < 15 && most * (double)(2 << made.bits) <= INT16_MAX)
        made.bits++;
    if (made.bits > 1) {
        double parts = (double)(1 << made.bits);
        made.factor = (int16_t)rint((double)deviation * parts * 32768.0 / (double)SPREAD);
        made.middle = (int16_t)rint((double)mean * parts);
    }
    return made;
}

/* SOME normal numbers from number `first` on as whole levels, nearer to zero. */
static void some_levels(Key key, uint32_t first, Parts parts, int16_t *to) {
    const int16_t below = (int16_t)((1 << parts.bits) - 1);
    some_sums(key, first, to);
    for (int k = 0; k < SOME; k++) {
        int16_t number = (int16_t)((((to[k] * parts.factor) >> 14) + 1) >> 1);
        number = (int16_t)(number + parts.middle);
        to[k] = (int16_t)(number + (number >> 15 & below));
    }
    for (int k = 0; k < SOME; k += 2 * LANES) { /* compilers would shift single ones in 32 bits */
        Shorts whole;
        memcpy(&whole, to + k, sizeof whole);
        whole >>= (int16_t)parts.bits;
        memcpy(to + k, &whole, sizeof whole);
    }
}

/* Such levels added to those of pixels, one to `each` of a pixel's values. */
static void add_levels(Key key, Parts parts, const uint8_t *from, uint8_t *to, int64_t pixels, int64_t each) {
    int16_t made[SOME], levels[SOME * CHANNELS];
    for (int64_t i = 0; i < pixels; i += SOME, from += SOME * each, to += SOME * each) {
        int64_t some = MIN(SOME, pixels - i);
        some_levels(key, (uint32_t)i, parts, made);
        spread_levels(made, some, each, levels);
        const int16_t *added = each > 1 ? levels : made;
        for (int64_t k = 0; k < some * each; k++) {
            int16_t sum = (int16_t)(from[k] + added[k]);
            sum = MAX(sum, 0);
            to[k] = (uint8_t)MIN(sum, 255);
        }
    }
}

/* Normal numbers added to an image's values; what lies beyond its range is cut off.

   type: of the values; shared: the channels of a pixel, at most 4, take the same number. */
KERNEL(own_noise)(int64_t key, float mean, float deviation, int32_t type, const void *from, void *to, int64_t pixels,
                  int32_t channels, int32_t shared) {
    if (channels < 1 || (shared && channels > CHANNELS) || (type != UINT8 && type != FLOAT32))
        return REFUSED;
    const int64_t each = shared ? channels : 1, count = shared ? pixels : pixels * channels;
    const Parts parts = parts_of(mean, deviation);
    if (type == UINT8 && parts.bits > 1) {
        add_levels(key_of(key), parts, from, to, count, each);
        return DONE;
    }
    float few[SOME], noise[SOME * CHANNELS];
    for (int64_t i = 0; i < count; i += SOME) {
        int64_t pixels_here = MIN(SOME, count - i), some = pixels_here * each, done = i * each;
        some_numbers(key_of(key), (uint32_t)i, mean, deviation, each == 1 ? noise : few);
        spread_floats(few, pixels_here, each, noise);
        if (type == FLOAT32) {
            const float *values = (const float *)from + done;
            float *out = (float *)to + done;
            for (int64_t k = 0; k < some; k++)
                out[k] = from_zero_to(values[k] + noise[k], 1.0f);
            continue;
        }
        const uint8_t *values = (const uint8_t *)from + done;
        uint8_t *out = (uint8_t *)to + done;
        for (int64_t k = 0; k < some; k++) { /* levels without what lies behind their point, as the step adds them */
            float number = MAX(noise[k], -256.0f);
            int32_t sum = values[k] + (int32_t)MIN(number, 256.0f);
            out[k] = (uint8_t)MIN(MAX(sum, 0), 255);
        }
    }
    return DONE;
}
