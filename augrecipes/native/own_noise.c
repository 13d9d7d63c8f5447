/* Gaussian noise from a counter-based generator: a key and a count tell each number (counters.h, normals.h).

   tests/laws/noise_in_numpy.py defines every bit of it. */

#include "normals.h"

enum { CHANNELS = 4 };

typedef int16_t Shorts __attribute__((vector_size(4 * LANES)));

/* Normal numbers, times deviation, plus mean. */
KERNEL(counter_numbers)(int64_t key, float mean, float deviation, float *out, int64_t count) {
    float result[SOME];
    for (int64_t i = 0; i < count; i += SOME) {
        float *to = count - i < SOME ? result : out + i;
        some_numbers(key_of(key), (uint32_t)i, mean, deviation, to);
        if (to == result)
            memcpy(out + i, result, (size_t)(count - i) * sizeof *out);
    }
    return DONE;
}

/* Numbers of pixels, each for so many values. */
static inline void spread_levels(const int16_t *numbers, int64_t count, int64_t each, int16_t *out) {
    if (each == 3)
        for (int64_t k = 0; k < count; k++)
            out[3 * k] = out[3 * k + 1] = out[3 * k + 2] = numbers[k];
    else if (each > 1)
        for (int64_t k = 0; k < count; k++)
            for (int64_t c = 0; c < each; c++)
                out[k * each + c] = numbers[k];
}

/* Of how many parts a level is made, 2^bits, and what normal numbers in them are multiplied with, and lie around: 16 bits
   each. bits is below 2 where they would be too few. */
typedef struct {
    int32_t bits;
    int16_t factor, middle;
} Parts;

static inline Parts parts_of(float mean, float deviation) {
    double most = fabs((double)mean) + 4.7 * (double)deviation; /* numbers end at 4.15, and the factor has 16 bits, too */
    Parts result = {0};
    while (result.bits < 15 && most * (double)(2 << result.bits) <= INT16_MAX)
        result.bits++;
    if (result.bits > 1) {
        double parts = (double)(1 << result.bits);
        result.factor = (int16_t)rint((double)deviation * parts * 32768.0 / (double)SPREAD);
        result.middle = (int16_t)rint((double)mean * parts);
    }
    return result;
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

/* Normal numbers, as whole levels, added to an image's.

   shared: the channels of a pixel, at most 4, take the same number. */
KERNEL(own_noise)(int64_t key, float mean, float deviation, const uint8_t *from, uint8_t *to, int64_t pixels,
                  int32_t channels, int32_t shared) {
    const int64_t each = shared ? channels : 1, count = shared ? pixels : pixels * channels;
    const Parts parts = parts_of(mean, deviation);
    if (channels < 1 || (shared && channels > CHANNELS) || parts.bits < 2)
        return REFUSED;
    int16_t numbers[SOME], levels[SOME * CHANNELS];
    for (int64_t i = 0; i < count; i += SOME, from += SOME * each, to += SOME * each) {
        int64_t some = MIN(SOME, count - i);
        some_levels(key_of(key), (uint32_t)i, parts, numbers);
        spread_levels(numbers, some, each, levels);
        const int16_t *added = each > 1 ? levels : numbers;
        for (int64_t k = 0; k < some * each; k++) {
            int16_t sum = (int16_t)(from[k] + added[k]);
            sum = MAX(sum, 0);
            to[k] = (uint8_t)MIN(sum, 255);
        }
    }
    return DONE;
}
