/* Swaps pixels with others near them, as GlassBlur does.

   compiler/kernels/fast_steps.py leaves to albumentations what this kernel refuses. */

#include <string.h>

#include "kernels.h"

static inline void copy_pixel(uint8_t *to, const uint8_t *from, int64_t size) {
    if (size == 3) {
        to[0] = from[0], to[1] = from[1], to[2] = from[2];
        return;
    }
    memcpy(to, from, (size_t)size);
}

/* Swap all pixels further than `far` from the edges at once: each takes the value of its partner; then partners take
   the values, in order, so that the last one wins. `steps`: rows and columns to the partner, two numbers for each
   pixel, `between` numbers from one pixel to the next; columns from the right, rows from below. `were`: a copy of the
   image. */
KERNEL(swap_all)(uint8_t *pixels, const uint8_t *were, const int64_t *steps, int64_t between, int64_t height, int64_t width,
                 int64_t size, int64_t far) {
    for (int turn = 0; turn < 2; turn++) {
        const int64_t *step = steps;
        for (int64_t w = width - far; w > far; w--)
            for (int64_t h = height - far; h > far; h--, step += between) {
                if (step[0] < -far || step[0] >= far || step[1] < -far || step[1] >= far)
                    return REFUSED;
                int64_t here = (h * width + w) * size, there = ((h + step[0]) * width + w + step[1]) * size;
                if (turn == 0)
                    copy_pixel(pixels + here, were + there, size);
                else
                    copy_pixel(pixels + there, were + here, size);
            }
    }
    return DONE;
}

/* Swap one pixel after the other, rows from below, columns from the right. If `back` is 0, partners are not changed. */
KERNEL(swap_each)(uint8_t *pixels, const int64_t *steps, int64_t between, int64_t height, int64_t width, int64_t size,
                  int64_t far, int32_t back) {
    uint8_t kept[16];
    if (back && size > (int64_t)sizeof kept)
        return REFUSED;
    for (int64_t h = height - far; h > far; h--)
        for (int64_t w = width - far; w > far; w--, steps += between) {
            if (steps[0] < -far || steps[0] >= far || steps[1] < -far || steps[1] >= far)
                return REFUSED;
            uint8_t *here = pixels + (h * width + w) * size, *there = here + (steps[0] * width + steps[1]) * size;
            if (there == here)
                continue;
            if (back)
                copy_pixel(kept, here, size);
            copy_pixel(here, there, size);
            if (back)
                copy_pixel(there, kept, size);
        }
    return DONE;
}
