/* Means along a short line of pixels: motion blur, bit for bit as OpenCV's filter2D has it.

   OpenCV adds products in float. How that rounds shows only where a mean lies half way between two levels: of an odd
   number of pixels none does, and those of two, four and eight are exact in float. Others are not taken. */

#include <string.h>

#include "ops.h"
#include "sampled.h"

enum { SOME = 512, FARTHEST = LONGEST_STREAK / 2, SHARE = 20 };

/* A row with so many pixels before it and behind it, mirrored. */
static inline void widen(const uint8_t *restrict row, int64_t columns, int64_t channels, int64_t far, uint8_t *restrict to) {
    memcpy(to + far * channels, row, (size_t)(columns * channels));
    for (int64_t k = 1; k <= far; k++)
        for (int64_t c = 0; c < channels; c++) {
            int32_t last = (int32_t)columns - 1;
            to[(far - k) * channels + c] = row[fold((int32_t)-k, (int32_t)columns, REFLECT_101) * channels + c];
            to[(far + last + k) * channels + c] =
                row[fold(last + (int32_t)k, (int32_t)columns, REFLECT_101) * channels + c];
        }
}

/* Means of numbers that lie alike in some rows; halves go to the even level. */
static inline void means(const uint8_t *const *rows, int64_t pixels, int64_t count, uint8_t *restrict to) {
    uint16_t all[SOME];
    /* Below 2^12 numbers, this share of which is exact: 9 * 2^12 < 2^20. */
    uint32_t share = ((1u << SHARE) + (uint32_t)pixels - 1) / (uint32_t)pixels;
    uint16_t half = (uint16_t)(pixels / 2), even = pixels % 2 == 0;
    for (int64_t i = 0; i < count; i++)
        all[i] = half;
    for (int64_t k = 0; k < pixels; k++) {
        const uint8_t *row = rows[k];
        for (int64_t i = 0; i < count; i++)
            all[i] = (uint16_t)(all[i] + row[i]);
    }
    for (int64_t i = 0; i < count; i++) {
        uint32_t found = all[i] * share >> SHARE;
        uint32_t is_half = even & (uint32_t)(found * (uint32_t)pixels == all[i]);
        to[i] = (uint8_t)(found - (found & is_half));
    }
}

/* A picture blurred, mirrored at its borders.

   source, target: rows x columns x channels uint8, each row behind the other, apart
   pixels: how many a mean is of: odd, or 2, 4 or 8; at most 9
   places: of each, how many rows and columns it is away, at most `far`; far: at most 4
   room: (2 * far + 1) * (columns + 2 * far) * channels bytes to work in */
KERNEL(streak)(const uint8_t *source, int64_t rows, int64_t columns, int64_t channels, int64_t pixels, const int32_t *places,
               int64_t far, uint8_t *room, uint8_t *target) {
    if (rows < 1 || columns < 1 || channels < 1 || far < 0 || far > FARTHEST || pixels < 1 || pixels > LONGEST_STREAK ||
        (pixels % 2 == 0 && (pixels & (pixels - 1))))
        return REFUSED;
    for (int64_t k = 0; k < 2 * pixels; k++)
        if (places[k] < -far || places[k] > far)
            return REFUSED;
    int64_t length = columns * channels, wide = length + 2 * far * channels, high = 2 * far + 1;
    for (int64_t y = -far; y < rows + far; y++) { /* row y lies in room y % high, and so do those before it */
        const uint8_t *row = source + fold((int32_t)y, (int32_t)rows, REFLECT_101) * length;
        widen(row, columns, channels, far, room + (y + far) % high * wide);
        int64_t middle = y - far;
        for (int64_t i = 0; middle >= 0 && i < length; i += SOME) {
            const uint8_t *from[LONGEST_STREAK];
            for (int64_t k = 0; k < pixels; k++)
                from[k] = room + (middle + places[2 * k] + far) % high * wide + (far + places[2 * k + 1]) * channels + i;
            means(from, pixels, MIN(SOME, length - i), target + middle * length + i);
        }
    }
    return DONE;
}
