/* Light and stain laid over images, and what unsharp masking does around its two blurs, to each value: the
   arithmetic of albumentations in float32. */

#include "kernels.h"

#include <math.h>

static inline float within(float value, float most) { return value < 0 ? 0 : value > most ? most : value; }

static inline uint8_t level(float value) { return (uint8_t)(int32_t)rintf(within(value, 1) * 255); }

/* What follows is compiled for three channels, and for any number. */

static inline void lit_pixels(const uint8_t *image, int64_t pixels, int64_t channels, const float *light, int unit,
                              uint8_t *restrict out) {
    for (int64_t p = 0; p < pixels; p++)
        for (int64_t c = 0; c < channels; c++) {
            float own = (float)image[p * channels + c];
            out[p * channels + c] = unit ? level(own / 255 * light[p]) : (uint8_t)(int32_t)within(own * light[p], 255);
        }
}

/* An image times a light for each pixel. unit: levels count as 0..1, and are rounded; else what is beyond whole levels
   is cut off. */
KERNEL(lit)(const uint8_t *image, int64_t pixels, int64_t channels, const float *light, int32_t unit, uint8_t *out) {
    if (channels == 3)
        unit ? lit_pixels(image, pixels, 3, light, 1, out) : lit_pixels(image, pixels, 3, light, 0, out);
    else
        unit ? lit_pixels(image, pixels, channels, light, 1, out) : lit_pixels(image, pixels, channels, light, 0, out);
    return DONE;
}

/* Pixels that are not darker than a threshold become those of another image. shares: 3 x 256: of a lightness. */
KERNEL(background)(const uint8_t *image, int64_t pixels, const float *shares, float threshold, const uint8_t *other,
                   uint8_t *out) {
    for (int64_t k = 0; k < 3 * pixels; k += 3) {
        float lightness = shares[image[k]] + shares[256 + image[k + 1]] + shares[512 + image[k + 2]];
        if (!(lightness < threshold))
            out[k] = other[k], out[k + 1] = other[k + 1], out[k + 2] = other[k + 2];
    }
    return DONE;
}

/* An image sharpened wherever it is, and where that is to be seen.

   levels: 256 of them, 0..1
   blurred: of the image, float32; becomes what is sharp
   mask: 1 where an image and its blur are further apart than the threshold, in levels */
KERNEL(sharpen_all)(const uint8_t *image, const float *levels, int64_t count, float alpha, float threshold,
                    float *restrict blurred, float *restrict mask) {
    for (int64_t k = 0; k < count; k++) {
        float own = levels[image[k]], apart = own - blurred[k], more = alpha * apart;
        mask[k] = fabsf(apart) * 255 > threshold ? 1 : 0;
        blurred[k] = within(own + more, 1);
    }
    return DONE;
}

/* The sharp image and the other one, mixed as a soft mask says. */
KERNEL(sharpen_some)(const uint8_t *image, const float *levels, int64_t count, const float *restrict sharp,
                     const float *restrict soft, uint8_t *restrict out) {
    for (int64_t k = 0; k < count; k++) {
        float other = 1 - soft[k], one = within(sharp[k] * soft[k], 1), two = within(levels[image[k]] * other, 1);
        out[k] = level(one + two);
    }
    return DONE;
}
