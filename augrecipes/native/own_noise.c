/* Noise of augrecipes' own: numbers that are told by a key and a count, and what they make of images.

   Beside tests/laws/noise_in_numpy.py, which defines every bit of it. */

#include "normals.h"

static inline float from_zero_to(float x, float most) { return x < 0.0f ? 0.0f : x > most ? most : x; }

/* Numbers, times deviation, plus mean. */
KERNEL(counter_numbers)(int64_t key, const Piece *pieces, float mean, float deviation, float *out, int64_t count) {
    float made[SOME];
    for (int64_t i = 0; i < count; i += SOME) {
        some_numbers(key_of(key), (uint32_t)i, pieces, mean, deviation, made);
        memcpy(out + i, made, (size_t)MIN(SOME, count - i) * sizeof *out);
    }
    return DONE;
}

/* The numbers that the next values of an image take, one for each or one for all channels of a pixel; how many values
   there are. */
static inline int64_t numbers_of(int64_t first, int64_t pixels, int32_t channels, Key key, const Piece *pieces, float mean,
                                 float deviation, float *out) {
    float made[SOME];
    int64_t some = MIN(SOME, pixels - first);
    some_numbers(key, (uint32_t)first, pieces, mean, deviation, channels == 1 ? out : made);
    if (channels == 3)
        for (int64_t k = 0; k < some; k++)
            out[3 * k] = out[3 * k + 1] = out[3 * k + 2] = made[k];
    else if (channels > 1)
        for (int64_t k = 0; k < some; k++)
            for (int32_t c = 0; c < channels; c++)
                out[k * channels + c] = made[k];
    return some * channels;
}

enum { CHANNELS = 4 };

/* Numbers added to an image's values, or multiplied with them; what lies beyond its range is cut off.

   type: of the values; shared: the channels of a pixel, at most 4, take the same number. */
KERNEL(own_noise)(int64_t key, const Piece *pieces, float mean, float deviation, int32_t multiplies, int32_t type,
                  const void *from, void *to, int64_t pixels, int32_t channels, int32_t shared) {
    if (channels < 1 || (shared && channels > CHANNELS) || (type != UINT8 && type != FLOAT32))
        return REFUSED;
    int64_t count = shared ? pixels : pixels * channels, done = 0;
    float noise[SOME * CHANNELS];
    for (int64_t i = 0; i < count; i += SOME) {
        int64_t some = numbers_of(i, count, shared ? channels : 1, key_of(key), pieces, mean, deviation, noise);
        if (type == FLOAT32) {
            const float *values = (const float *)from + done;
            float *out = (float *)to + done;
            for (int64_t k = 0; k < some; k++)
                out[k] = from_zero_to(multiplies ? values[k] * noise[k] : values[k] + noise[k], 1.0f);
        } else if (multiplies) {
            const uint8_t *values = (const uint8_t *)from + done;
            uint8_t *out = (uint8_t *)to + done;
            for (int64_t k = 0; k < some; k++)
                out[k] = (uint8_t)(int32_t)from_zero_to(values[k] * noise[k], 255.0f);
        } else {
            const uint8_t *values = (const uint8_t *)from + done;
            uint8_t *out = (uint8_t *)to + done;
            for (int64_t k = 0; k < some; k++) { /* levels without what lies behind their point, as the step adds them */
                float number = MAX(noise[k], -256.0f);
                int32_t sum = values[k] + (int32_t)MIN(number, 256.0f);
                out[k] = (uint8_t)MIN(MAX(sum, 0), 255);
            }
        }
        done += some;
    }
    return DONE;
}
