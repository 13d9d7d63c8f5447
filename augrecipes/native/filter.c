/* Sharpening and embossing: nine weights about each pixel, bit for bit as OpenCV's filter2D has them. */

#include "rounding.h"
#include "sampled.h"

enum { ACROSS = 512, WIDEST = 4, REACH = 3, AT_A_TIME = 4 };

/* Bytes of a row as numbers, with the pixel before them and the one behind. */
static void take(const uint8_t *restrict row, int64_t left, int64_t some, int64_t columns, int64_t channels,
                 float *restrict to) {
    int64_t length = columns * channels, right = left + some;
    int64_t before = left ? left - channels : fold(-1, (int32_t)columns, REFLECT_101) * channels;
    int64_t after = right < length ? right : fold((int32_t)columns, (int32_t)columns, REFLECT_101) * channels;
    for (int64_t c = 0; c < channels; c++) {
        to[c] = row[before + c];
        to[channels + some + c] = row[after + c];
    }
    for (int64_t i = 0; i < some; i++)
        to[channels + i] = row[left + i];
}

/* Of three rows, whose first number is that of the pixel before. */
static inline void weigh(const float *restrict up, const float *restrict here, const float *restrict down,
                         int64_t count, int64_t pixel, const float *restrict weights, int fused,
                         uint8_t *restrict to) {
    float w[REACH * REACH];
    for (int32_t k = 0; k < REACH * REACH; k++)
        w[k] = weights[k];
    for (int64_t i = 0; i < count; i++) {
        float sum = times_add(up[i], w[0], 0.0f, fused);
        sum = times_add(up[i + pixel], w[1], sum, fused);
        sum = times_add(up[i + 2 * pixel], w[2], sum, fused);
        sum = times_add(here[i], w[3], sum, fused);
        sum = times_add(here[i + pixel], w[4], sum, fused);
        sum = times_add(here[i + 2 * pixel], w[5], sum, fused);
        sum = times_add(down[i], w[6], sum, fused);
        sum = times_add(down[i + pixel], w[7], sum, fused);
        sum = times_add(down[i + 2 * pixel], w[8], sum, fused);
        to[i] = (uint8_t)within(nearest(sum));
    }
}

/* An image filtered by 3 x 3 weights, mirrored at its borders.

   source, target: rows x columns x channels uint8, each row behind the other, apart; channels: 1 to 4
   weights: 9, whose sizes come to no more than 4096
   fused: whether OpenCV fuses, which it does where it takes four numbers of a row at a time, and not in what is left */
KERNEL(filter)(const uint8_t *source, int64_t rows, int64_t columns, int64_t channels, const float *weights,
               int32_t fused, uint8_t *target) {
    float sizes = 0;
    for (int32_t k = 0; k < REACH * REACH; k++)
        sizes += weights[k] < 0 ? -weights[k] : weights[k];
    if (rows < 0 || columns < 0 || channels < 1 || channels > WIDEST || !(sizes <= 4096))
        return REFUSED;
    float workspace[REACH][ACROSS + 2 * WIDEST];
    int64_t length = columns * channels, across = ACROSS - ACROSS % channels;
    int64_t body = length - length % AT_A_TIME;
    for (int64_t left = 0; left < length; left += across) {
        int64_t some = MIN(across, length - left);
        for (int64_t y = 0; y < rows; y++) {
            /* Row k lies in workspace k % 3, and so do the two before it. */
            for (int64_t k = y ? y + 1 : 0; k < MIN(y + 2, rows); k++)
                take(source + k * length, left, some, columns, channels, workspace[k % REACH]);
            const float *up = workspace[fold((int32_t)y - 1, (int32_t)rows, REFLECT_101) % REACH], *here = workspace[y % REACH];
            const float *down = workspace[fold((int32_t)y + 1, (int32_t)rows, REFLECT_101) % REACH];
            int64_t part = fused ? MIN(some, MAX(body - left, 0)) : 0;
            uint8_t *to = target + y * length + left;
            weigh(up, here, down, part, channels, weights, 1, to);
            weigh(up + part, here + part, down + part, some - part, channels, weights, 0, to + part);
        }
    }
    return DONE;
}
