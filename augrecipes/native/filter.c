/* Convolution with small kernels (sharpening, embossing, motion blur), with the bits of OpenCV's filter2D up to
   WIDEST_FILTER; up to WIDEST_KERNEL for blur kernels, whose sums are exact. */

#include "lanes.h"
#include "ops.h"
#include "sampled.h"

enum { ACROSS = 512, WIDEST = 4, AT_ONCE = 4, MOST = WIDEST_KERNEL * WIDEST_KERNEL };

/* Weighted sums as levels, for `from` to `end`, of numbers at several addresses; a few more are read of each. */
static inline void weigh(const float *const *at, const Floats *weights, int64_t taps, int64_t from, int64_t end,
                         int fused, uint8_t *restrict to) {
    for (int64_t i = from; i < end; i += AT_ONCE * LANES) {
        uint8_t result[AT_ONCE * LANES];
        Floats sums[AT_ONCE] = {{0}}, least = sums[0], most = least + 255.0f;
        for (int64_t k = 0; k < taps; k++)
            for (int l = 0; l < AT_ONCE; l++)
                sums[l] = times_add(some(at[k] + i + l * LANES), weights[k], sums[l], fused);
        for (int l = 0; l < AT_ONCE; l++)
            to_bytes(nearest(lesser(greater(sums[l], least), most)), result + l * LANES);
        memcpy(to + i, result, (size_t)MIN(AT_ONCE * LANES, end - i));
    }
}

/* Convolve an image, mirrored at its borders.

   source, target: rows x columns x channels uint8 without gaps; they must not overlap; channels: 1 to 4
   weights: side x side, side odd; their absolute values add up to at most 4096
   fused:   numbers of a row that OpenCV takes at a time, with fused multiply-add, which it does not use for the rest of
   the row; 0: for none */
KERNEL(filter)(const uint8_t *source, int64_t rows, int64_t columns, int64_t channels, const float *weights, int64_t side,
               int32_t fused, uint8_t *target) {
    Floats used[MOST];
    float sizes = 0, workspace[WIDEST_KERNEL][ACROSS + WIDEST * WIDEST_KERNEL + AT_ONCE * LANES] = {{0}};
    const float *at[MOST];
    int64_t taps = 0, down[MOST], right[MOST], reach = side / 2;
    if (rows < 0 || columns < 0 || channels < 1 || channels > WIDEST || side < 1 || side > WIDEST_KERNEL || side % 2 == 0)
        return REFUSED;
    for (int64_t k = 0; k < side * side; k++) {
        sizes += fabsf(weights[k]);
        if (weights[k] != 0)
            used[taps] = (Floats){0} + weights[k], down[taps] = k / side - reach, right[taps++] = k % side * channels;
    }
    if (!(sizes <= 4096))
        return REFUSED;
    int64_t length = columns * channels, across = ACROSS - ACROSS % channels;
    for (int64_t left = 0; left < length; left += across) {
        int64_t count = MIN(across, length - left), body = fused ? MIN(count, MAX(length - length % fused - left, 0)) : 0;
        for (int64_t y = 0; y < rows; y++) {
            /* Row k has slot k % side, and so have the rows around y. */
            for (int64_t k = y ? y + reach : 0; k < MIN(y + reach + 1, rows); k++)
                take_mirrored(source + k * length, left, count, columns, channels, reach, workspace[k % side]);
            for (int64_t k = 0; k < taps; k++) {
                int32_t row = fold((int32_t)(y + down[k]), (int32_t)rows, BORDER_REFLECT_101);
                at[k] = workspace[row % side] + right[k];
            }
            weigh(at, used, taps, 0, body, 1, target + y * length + left);
            weigh(at, used, taps, body, count, 0, target + y * length + left);
        }
    }
    return DONE;
}
