/* What unsharp masking does around its two blurs, to each value of an image: the arithmetic of albumentations in float32. */

#include "kernels.h"

#include <math.h>

static inline float within(float value) { return value < 0 ? 0 : value > 1 ? 1 : value; }

/* An image sharpened wherever it is, and where that is to be seen.

   levels: 256 of them, 0..1
   blurred: of the image, float32; becomes what is sharp
   mask: 1 where an image and its blur are further apart than the threshold, in levels */
KERNEL(sharpen_all)(const uint8_t *image, const float *levels, int64_t count, float alpha, float threshold,
                    float *restrict blurred, float *restrict mask) {
    for (int64_t k = 0; k < count; k++) {
        float own = levels[image[k]], apart = own - blurred[k], more = alpha * apart;
        mask[k] = fabsf(apart) * 255 > threshold ? 1 : 0;
        blurred[k] = within(own + more);
    }
    return DONE;
}

/* The sharp image and the other one, mixed as a soft mask says. */
KERNEL(sharpen_some)(const uint8_t *image, const float *levels, int64_t count, const float *restrict sharp,
                     const float *restrict soft, uint8_t *restrict out) {
    for (int64_t k = 0; k < count; k++) {
        float other = 1 - soft[k], one = within(sharp[k] * soft[k]), two = within(levels[image[k]] * other);
        float mixed = within(one + two) * 255;
        out[k] = (uint8_t)rintf(mixed);
    }
    return DONE;
}
