/* Box filter by running sums along columns and rows, with the bits of OpenCV's blur: halves are rounded up. */

#include "ops.h"
#include "sampled.h"

enum { SOME = 512, SHARE = 24 }; /* SOME: sums at a time; SHARE: bits of the reciprocal */

/* Move the sums of columns down by a row: add one row and subtract another. */
static inline void move_sums(const uint8_t *restrict in, const uint8_t *restrict off, int64_t count, uint16_t *restrict sums) {
    for (int64_t i = 0; i < count; i++)
        sums[i] = (uint16_t)(sums[i] + in[i] - off[i]);
}

/* Means of `side` sums each, `apart` values from one to the next. */
static inline void mean(const uint16_t *restrict sums, int64_t apart, int64_t side, int64_t count, uint8_t *restrict to) {
    uint16_t all[SOME];
    /* The reciprocal is exact for sums below 2^16, because 225 * 2^16 < 2^24. */
    uint32_t share = ((1u << SHARE) + (uint32_t)(side * side) - 1) / (uint32_t)(side * side);
    for (int64_t i = 0; i < count; i++)
        all[i] = (uint16_t)(side * side / 2);
    for (int64_t k = 0; k < side; k++)
        for (int64_t i = 0; i < count; i++)
            all[i] = (uint16_t)(all[i] + sums[i + k * apart]);
    for (int64_t i = 0; i < count; i++)
        to[i] = (uint8_t)(all[i] * share >> SHARE);
}

/* Blur an image, mirrored at its borders.

   source, target: rows x columns x channels uint8 without gaps; they must not overlap
   side:      of the square: odd, at most 15, and less than twice the rows and columns
   workspace: 2 * (columns + side) * channels bytes */
KERNEL(blur)(const uint8_t *source, int64_t rows, int64_t columns, int64_t channels, int64_t side, uint16_t *workspace,
             uint8_t *target) {
    int64_t length = columns * channels, far = side / 2;
    if (channels < 1 || side < 1 || side > WIDEST_BLUR || side % 2 == 0 || rows <= far || columns <= far)
        return REFUSED;
    uint16_t *sums = workspace + far * channels;
    for (int64_t i = 0; i < length; i++)
        sums[i] = 0;
    for (int64_t y = -far; y <= far; y++)
        for (int64_t i = 0; i < length; i++)
            sums[i] = (uint16_t)(sums[i] + source[fold((int32_t)y, (int32_t)rows, BORDER_REFLECT_101) * length + i]);
    for (int64_t y = 0; y < rows; y++) {
        for (int64_t k = 1; k <= far; k++)
            for (int64_t c = 0; c < channels; c++) {
                sums[c - k * channels] = sums[c + k * channels];
                sums[length - channels + c + k * channels] = sums[length - channels + c - k * channels];
            }
        for (int64_t i = 0; i < length; i += SOME)
            mean(workspace + i, channels, side, MIN(SOME, length - i), target + y * length + i);
        const uint8_t *in = source + fold((int32_t)(y + far + 1), (int32_t)rows, BORDER_REFLECT_101) * length;
        move_sums(in, source + fold((int32_t)(y - far), (int32_t)rows, BORDER_REFLECT_101) * length, length, sums);
    }
    return DONE;
}
