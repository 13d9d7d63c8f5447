/* Means over a disc about each pixel: each row of the disc is the difference of two sums along a row of the image. */

#include "rounding.h"
#include "sampled.h"

enum { CHANNELS = 3, FURTHEST = 128, BLOCK = 512, MOST = 257 }; /* sums at a time; levels whose sum has 16 bits */

/* Sums of levels from the left of a row on, mirrored `far` pixels beyond its ends; whole numbers modulo 2^16. */
static void sum_along(const uint8_t *row, int64_t columns, int64_t far, uint16_t *restrict sums) {
    uint16_t all[CHANNELS] = {0};
    for (int64_t x = -far; x <= columns + far; x++) {
        const uint8_t *from = row + CHANNELS * fold((int32_t)x, (int32_t)columns, REFLECT_101);
        for (int c = 0; c < CHANNELS; c++) {
            *sums++ = all[c];
            all[c] = (uint16_t)(all[c] + from[c]);
        }
    }
}

/* An image blurred by a disc, mirrored at its borders.

   source, target: rows x columns x 3 uint8, each row behind the other, apart
   reach: how far rows -far to far of the disc go from their middle, at most `far`
   share: of each level in what becomes of a pixel
   workspace: (2 * far + 1) x (columns + 2 * far + 1) x 3 sums */
KERNEL(defocus)(const uint8_t *source, int64_t rows, int64_t columns, const int32_t *reach, int64_t far, float share,
                uint16_t *workspace, uint8_t *target) {
    int64_t length = CHANNELS * columns, side = 2 * far + 1, stride = length + CHANNELS * side;
    if (rows < 1 || columns < 1 || far < 0 || far >= FURTHEST)
        return REFUSED;
    for (int64_t y = -2 * far; y < rows; y++, target += y > 0 ? length : 0) {
        const uint8_t *next = source + fold((int32_t)(y + far), (int32_t)rows, REFLECT_101) * length;
        sum_along(next, columns, far, workspace + (y + 2 * far) % side * stride);
        for (int64_t left = 0; y >= 0 && left < length; left += BLOCK) {
            uint32_t all[BLOCK] = {0};
            int64_t some = MIN(BLOCK, length - left);
            for (int64_t k = 0; k < side;) {
                uint16_t part[BLOCK] = {0};
                for (int64_t count = 0; k < side && (count += 2 * reach[k] + 1) <= MOST; k++) {
                    const uint16_t *row = workspace + (y + k) % side * stride + left;
                    const uint16_t *from = row + CHANNELS * (far - reach[k]), *to = from + CHANNELS * (2 * reach[k] + 1);
                    for (int64_t i = 0; i < some; i++)
                        part[i] = (uint16_t)(part[i] + to[i] - from[i]);
                }
                for (int64_t i = 0; i < some; i++)
                    all[i] += part[i];
            }
            for (int64_t i = 0; i < some; i++)
                target[left + i] = (uint8_t)within(nearest((float)(int32_t)all[i] * share));
        }
    }
    return DONE;
}
