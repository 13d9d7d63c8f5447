/* Separable filter with symmetric weights, with the bits of OpenCV's sepFilter2D for weights that are not multiples
   of 1/256: in float, along rows from the first tap on, along columns from the middle outwards. The image is filtered
   in vertical strips, whose rows stay in the first cache, and two rows at a time, which share what they load. */

#include "lanes.h"
#include "ops.h"
#include "sampled.h"

enum { AT_ONCE = 4, BLOCK = AT_ONCE * LANES, PAIR = 2, PART = PAIR * LANES };

/* Sums along a row, from `i` to `end`, of numbers `apart` from each other; numbers after `end` may be written. */
static inline void along(const float *restrict from, int64_t i, int64_t end, int64_t apart, const float *weights,
                         int64_t size, int fused, float *restrict to) {
    for (; i < end; i += BLOCK) {
        Floats sums[AT_ONCE], weight = weights[0] - (Floats){0};
        for (int n = 0; n < AT_ONCE; n++)
            sums[n] = some(from + i + n * LANES) * weight;
        for (int64_t k = 1; k < size; k++) {
            weight = weights[k] - (Floats){0};
            for (int n = 0; n < AT_ONCE; n++)
                sums[n] = times_add(some(from + i + k * apart + n * LANES), weight, sums[n], fused);
        }
        memcpy(to + i, sums, sizeof sums);
    }
}

/* Round to levels, and store `count` of them. */
static inline void put_levels(const Floats *sums, int64_t count, uint8_t *to) {
    uint8_t levels[PART], *at = count < PART ? levels : to;
    for (int n = 0; n < PAIR; n++)
        to_bytes(nearest(sums[n]), at + n * LANES);
    if (count < PART)
        memcpy(to, levels, (size_t)count);
}

/* Sums across rows, as levels of two rows: around rows[far] and, with `next`, around rows[far + 1]. */
static inline void across(const float *const *rows, int64_t i, int64_t end, const float *weights, int64_t far, int fused,
                          uint8_t *restrict to, uint8_t *restrict next) {
    for (; i < end; i += PART) {
        Floats above[PAIR], below[PAIR], sums[PAIR], sums_next[PAIR], weight = weights[far] - (Floats){0};
        for (int n = 0; n < PAIR; n++) {
            above[n] = some(rows[far] + i + n * LANES), below[n] = some(rows[far + 1] + i + n * LANES);
            sums[n] = above[n] * weight, sums_next[n] = below[n] * weight;
        }
        for (int64_t k = 1; k <= far; k++) {
            weight = weights[far + k] - (Floats){0};
            for (int n = 0; n < PAIR; n++) {
                Floats farther = some(rows[far - k] + i + n * LANES), last = some(rows[far + 1 + k] + i + n * LANES);
                sums[n] = times_add(below[n] + farther, weight, sums[n], fused);
                sums_next[n] = times_add(last + above[n], weight, sums_next[n], fused);
                above[n] = farther, below[n] = last;
            }
        }
        put_levels(sums, end - i, to + i);
        if (next)
            put_levels(sums_next, end - i, next + i);
    }
}

/* The part of `length` that groups of `some` fill. */
static inline int64_t body_of(int64_t length, int64_t some) { return some ? length - length % some : 0; }

/* Whether weights are symmetric, add up to 1, and are summed in float by OpenCV. */
static inline int is_supported(const float *weights, int64_t size) {
    float sum = 0;
    int whole = 1;
    for (int64_t k = 0; k < size; k++) {
        float parts = weights[k] * 256.0f;
        if (!(weights[k] >= 0 && weights[k] <= 1) || weights[k] != weights[size - 1 - k])
            return 0;
        sum += weights[k];
        whole &= fabsf(parts - rintf(parts)) < 1e-3f;
    }
    return !whole && sum < 1.0001f;
}

/* Blur an image, mirrored at its borders.

   source, target: rows x columns x channels uint8 without gaps; they must not overlap; channels: 1 to 4
   weights: `size` of them: odd, at most 63; not negative, symmetric, of sum 1
   fused_along, fused_across: the size of the groups of numbers for which OpenCV uses fused multiply-add, which it does
            not for the rest; 0: nowhere
   workspace: (size + 3) * GAUSSIAN_WIDTH floats */
KERNEL(gaussian)(const uint8_t *source, int64_t rows, int64_t columns, int64_t channels, const float *weights, int64_t size,
                 int64_t fused_along, int64_t fused_across, float *workspace, uint8_t *target) {
    enum { STRIP = GAUSSIAN_WIDTH - BLOCK };
    if (rows < 1 || columns < 1 || channels < 1 || channels > MOST_CHANNELS || size < 1 || size > MOST_WEIGHTS ||
        size % 2 == 0 || fused_along < 0 || fused_across < 0 || !is_supported(weights, size))
        return REFUSED;
    const int64_t far = size / 2, length = columns * channels, strip = STRIP - STRIP % channels;
    const float *about[MOST_WEIGHTS + 1];
    float *line = workspace + (size + 1) * GAUSSIAN_WIDTH;
    memset(line, 0, 2 * GAUSSIAN_WIDTH * sizeof *line);
    for (int64_t left = 0; left < length; left += strip) {
        const int64_t end = MIN(strip, length - left);
        const int64_t body = MIN(MAX(body_of(length, fused_along) - left, 0), end);
        const int64_t most = MIN(MAX(body_of(length, fused_across) - left, 0), end);
        for (int64_t y = -far; y < rows + rows % 2 + far; y++) { /* row y has slot (y + far) % (size + 1) */
            float *sums = workspace + (y + far) % (size + 1) * GAUSSIAN_WIDTH;
            const uint8_t *row = source + fold((int32_t)y, (int32_t)rows, BORDER_REFLECT_101) * length;
            take_mirrored(row, left, end, columns, channels, far, line);
            along(line, 0, body, channels, weights, size, 1, sums);
            along(line, body, end, channels, weights, size, 0, sums);
            const int64_t first = y - far - 1;
            if (first < 0 || first % 2)
                continue;
            for (int64_t k = 0; k <= size; k++)
                about[k] = workspace + (first + k) % (size + 1) * GAUSSIAN_WIDTH;
            uint8_t *to = target + first * length + left, *next = first + 1 < rows ? to + length : 0;
            across(about, 0, most, weights, far, 1, to, next);
            across(about, most, end, weights, far, 0, to, next);
        }
    }
    return DONE;
}
