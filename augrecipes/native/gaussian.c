/* Sums of weighed pixels along rows, then along columns, bit for bit as OpenCV's sepFilter2D has them where weights are
   alike on both sides and no whole numbers of 256ths: in float, from the first of a row on, from the middle of a column
   outwards. */

#include "lanes.h"
#include "ops.h"
#include "sampled.h"

enum { AT_ONCE = 4, BLOCK = AT_ONCE * LANES };

/* A row as numbers, with so many pixels before it and behind it, mirrored; what follows them is filled up. */
static inline void widen(const uint8_t *restrict row, int64_t columns, int64_t channels, int64_t far, float *restrict to) {
    int64_t length = columns * channels;
    float *inner = to + far * channels;
    for (int64_t i = 0; i < length; i++)
        inner[i] = row[i];
    for (int64_t k = 1; k <= far; k++)
        for (int64_t c = 0; c < channels; c++) {
            int32_t last = (int32_t)columns - 1;
            inner[c - k * channels] = row[fold((int32_t)-k, (int32_t)columns, BORDER_REFLECT_101) * channels + c];
            inner[(last + k) * channels + c] =
                row[fold(last + (int32_t)k, (int32_t)columns, BORDER_REFLECT_101) * channels + c];
        }
    for (int64_t i = 0; i < BLOCK; i++)
        inner[length + far * channels + i] = 0;
}

/* Along a row, of numbers `apart` from each other: the sums from `i` to `end`; what lies behind them is written to, too. */
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

/* Across rows, the nearest levels; rows[0] is the one in the middle, then those above and below it in turn. */
static inline void across(const float *const *rows, int64_t i, int64_t end, const float *weights, int64_t far, int fused,
                          uint8_t *restrict to) {
    for (; i < end; i += BLOCK) {
        Floats sums[AT_ONCE], weight = weights[far] - (Floats){0};
        uint8_t levels[BLOCK];
        for (int n = 0; n < AT_ONCE; n++)
            sums[n] = some(rows[0] + i + n * LANES) * weight;
        for (int64_t k = 1; k <= far; k++) {
            const float *above = rows[2 * k - 1] + i, *below = rows[2 * k] + i;
            weight = weights[far + k] - (Floats){0};
            for (int n = 0; n < AT_ONCE; n++)
                sums[n] = times_add(some(below + n * LANES) + some(above + n * LANES), weight, sums[n], fused);
        }
        for (int n = 0; n < AT_ONCE; n++)
            to_bytes(nearest(sums[n]), levels + n * LANES);
        memcpy(to + i, levels, (size_t)MIN(BLOCK, end - i));
    }
}

/* How many of so many numbers are taken `some` at a time. */
static inline int64_t body_of(int64_t length, int64_t some) { return some ? length - length % some : 0; }

/* Whether these are weights of a mean, alike on both sides, and OpenCV sums them up in float. */
static inline int are_known(const float *weights, int64_t size) {
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

/* An image blurred, mirrored at its borders.

   source, target: rows x columns x channels uint8, each row behind the other, apart
   weights: `size` of them, odd, at most 63; at least 0, alike on both sides, together 1
   fused_along, fused_across: how many numbers OpenCV takes at a time where it rounds products and sums at once, which it
     does not in what is left; 0: nowhere
   workspace: size * (columns * channels + 64) + (columns + size) * channels + 64 floats to work in */
KERNEL(gaussian)(const uint8_t *source, int64_t rows, int64_t columns, int64_t channels, const float *weights, int64_t size,
                 int64_t fused_along, int64_t fused_across, float *workspace, uint8_t *target) {
    if (rows < 1 || columns < 1 || channels < 1 || size < 1 || size > MOST_WEIGHTS || size % 2 == 0 || fused_along < 0 ||
        fused_across < 0 || !are_known(weights, size))
        return REFUSED;
    int64_t far = size / 2, length = columns * channels, wide = length + BLOCK;
    int64_t body = body_of(length, fused_along), most = body_of(length, fused_across);
    float *line = workspace + size * wide;
    const float *about[MOST_WEIGHTS];
    for (int64_t y = -far; y < rows + far; y++) { /* row y lies in workspace y % size, and so do those before it */
        float *sums = workspace + (y + far) % size * wide;
        widen(source + fold((int32_t)y, (int32_t)rows, BORDER_REFLECT_101) * length, columns, channels, far, line);
        along(line, 0, body, channels, weights, size, 1, sums);
        along(line, body, length, channels, weights, size, 0, sums);
        int64_t middle = y - far;
        if (middle < 0)
            continue;
        for (int64_t k = 0; k < size; k++)
            about[k] = workspace + (middle + far + (k % 2 ? -(k + 1) / 2 : k / 2)) % size * wide;
        across(about, 0, most, weights, far, 1, target + middle * length);
        across(about, most, length, weights, far, 0, target + middle * length);
    }
    return DONE;
}
