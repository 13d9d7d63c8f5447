/* Gaussian noise from a counter-based generator: a key and an index determine each number (counters.h, normals.h).

   tests/laws/noise_in_numpy.py defines every bit. */

#include "normals.h"

enum { CHANNELS = 4 };

typedef int16_t Shorts __attribute__((vector_size(4 * LANES)));

/* Write normal numbers of a mean and a deviation. */
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

/* Repeat the number of each pixel for its `each` channels. */
static inline void repeat_numbers(const int16_t *numbers, int64_t count, int64_t each, int16_t *out) {
    if (each == 3)
        for (int64_t k = 0; k < count; k++)
            out[3 * k] = out[3 * k + 1] = out[3 * k + 2] = numbers[k];
    else if (each > 1)
        for (int64_t k = 0; k < count; k++)
            for (int64_t c = 0; c < each; c++)
                out[k * each + c] = numbers[k];
}

/* A fixed-point format: 2^bits parts of a level, and the factor and the mean of normal numbers in these, 16 bits
   each. With `bits` below 2 it is too coarse. */
typedef struct {
    int32_t bits;
    int16_t factor, middle;
} Parts;

static inline Parts parts_of(float mean, float deviation) {
    double most = fabs((double)mean) + 4.7 * (double)deviation; /* 4.15 at most; the factor must fit 16 bits, too */
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

/* SOME normal numbers from number `first` on, truncated to levels. */
static void some_levels(Key key, uint32_t first, Parts parts, int16_t *to) {
    const int16_t below = (int16_t)((1 << parts.bits) - 1);
    some_sums(key, first, to);
    for (int k = 0; k < SOME; k++) {
        int16_t number = (int16_t)((((to[k] * parts.factor) >> 14) + 1) >> 1);
        number = (int16_t)(number + parts.middle);
        to[k] = (int16_t)(number + (number >> 15 & below));
    }
    for (int k = 0; k < SOME; k += 2 * LANES) { /* compilers would shift one by one in 32 bits */
        Shorts whole;
        memcpy(&whole, to + k, sizeof whole);
        whole >>= (int16_t)parts.bits;
        memcpy(to + k, &whole, sizeof whole);
    }
}

/* Add normal numbers, as integer levels, to an image.

   shared: the channels of a pixel, at most 4, have the same number. */
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
        repeat_numbers(numbers, some, each, levels);
        const int16_t *added = each > 1 ? levels : numbers;
        for (int64_t k = 0; k < some * each; k++) {
            int16_t sum = (int16_t)(from[k] + added[k]);
            sum = MAX(sum, 0);
            to[k] = (uint8_t)MIN(sum, 255);
        }
    }
    return DONE;
}
