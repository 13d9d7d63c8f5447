/* The arithmetic of unsharp masking around its two blurs, in float32 as in albumentations. */

#include "kernels.h"

#include <math.h>

static inline float within(float value, float most) { return value < 0 ? 0 : value > most ? most : value; }

static inline uint8_t level(float value) { return (uint8_t)(int32_t)rintf(within(value, 1) * 255); }

/* Sharpen an image everywhere, and find where the sharpening will be visible.

   levels: 256 of them, 0..1
   blurred: the blurred image, float32; becomes the sharpened one
   mask: 1 where the image and its blur differ by more than the threshold, in levels */
KERNEL(sharpen_all)(const uint8_t *image, const float *levels, int64_t count, float alpha, float threshold,
                    float *restrict blurred, float *restrict mask) {
    for (int64_t k = 0; k < count; k++) {
        float own = levels[image[k]], apart = own - blurred[k], more = alpha * apart;
        mask[k] = fabsf(apart) * 255 > threshold ? 1 : 0;
        blurred[k] = within(own + more, 1);
    }
    return DONE;
}

/* Blend the sharpened image and the original by a soft mask. */
KERNEL(sharpen_some)(const uint8_t *image, const float *levels, int64_t count, const float *restrict sharp,
                     const float *restrict soft, uint8_t *restrict out) {
    for (int64_t k = 0; k < count; k++) {
        float other = 1 - soft[k], one = within(sharp[k] * soft[k], 1), two = within(levels[image[k]] * other, 1);
        out[k] = level(one + two);
    }
    return DONE;
}
