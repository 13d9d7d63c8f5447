/* Median filter of 3 x 3, 5 x 5 and 7 x 7 by sorting networks, many pixels at a time (one in each byte of a vector).

   The columns of a window are sorted first, once for all windows that share them, then its rows. In a window sorted
   both ways most numbers have too many below or above them to be the median; of the rest, the least and the greatest
   are dropped each time a new one is added (forgetful selection), until three remain.

   Bits: a median is the same however it is found; borders repeat the edge pixel, as OpenCV's medianBlur does.
   Law: tests/laws/test_hard_images.py (medians), tests/laws/test_native_points.py. */

#include <string.h>

#include "registers.h"

#if defined(X86)
enum { AT_ONCE = sizeof(Register) };
#else
enum { AT_ONCE = 16 };
#endif

enum { WIDEST = 7 };
typedef uint8_t Bytes __attribute__((vector_size(AT_ONCE)));

LANEWISE(Bytes, Register, lower_of, min_epu8, (a & (Bytes)(a < b)) | (b & ~(Bytes)(a < b)))
LANEWISE(Bytes, Register, higher_of, max_epu8, (b & (Bytes)(a < b)) | (a & ~(Bytes)(a < b)))

/* Compare and exchange: the lower numbers to a, the higher ones to b. */
static inline void order(Bytes *a, Bytes *b) {
    Bytes low = lower_of(*a, *b);
    *b = higher_of(*a, *b), *a = low;
}

static inline Bytes bytes(const uint8_t *from) {
    Bytes result;
    memcpy(&result, from, sizeof result);
    return result;
}

static const int8_t PAIRS[][2] = {
    {0, 1}, {1, 2}, {0, 1}, /* for three */
    {0, 1}, {3, 4}, {2, 4}, {2, 3}, {1, 4}, {0, 3}, {0, 2}, {1, 3}, {1, 2}, /* for five */
    {0, 6}, {2, 3}, {4, 5}, {0, 2}, {1, 4}, {3, 6}, {0, 1}, {2, 5}, {3, 4}, {1, 2}, {4, 6}, {2, 3}, {4, 5}, {1, 2}, {3, 4}, {5, 6},
};

/* Sort 3, 5 or 7 numbers. */
static inline __attribute__((always_inline)) void sort(Bytes *v, int side) {
    int from = side == 3 ? 0 : side == 5 ? 3 : 12, count = side == 3 ? 3 : side == 5 ? 9 : 16;
#pragma GCC unroll 16
    for (int k = 0; k < count; k++)
        order(v + PAIRS[from + k][0], v + PAIRS[from + k][1]);
}

/* Move the least number to the first place and the greatest to the last: neither is the median. */
static inline __attribute__((always_inline)) void part(Bytes *v, int count) {
#pragma GCC unroll 16
    for (int k = 0; k < count / 2; k++)
        order(v + k, v + count - 1 - k);
#pragma GCC unroll 16
    for (int k = 1; k < (count + 1) / 2; k++)
        order(v, v + k);
#pragma GCC unroll 16
    for (int k = count / 2; k < count - 1; k++)
        order(v + k, v + count - 1);
}

/* Drop these two of `held` numbers, and add the next one of those after the first `all`. */
static inline __attribute__((always_inline)) void step(Bytes *v, int held, int all) {
    part(v, held);
    v[0] = v[2 * all - held];
}

/* The median of 3, 13 or 29 numbers, of which the first 3, 8 or 16 are considered together at first. */
static inline __attribute__((always_inline)) Bytes middle(Bytes *v, int all) {
    if (all == 16) {
        step(v, 16, all), step(v, 15, all), step(v, 14, all), step(v, 13, all);
        step(v, 12, all), step(v, 11, all), step(v, 10, all), step(v, 9, all);
    }
    if (all >= 8)
        step(v, 8, all), step(v, 7, all), step(v, 6, all), step(v, 5, all), step(v, 4, all);
    part(v, 3);
    return v[1];
}

/* The medians of windows with sorted columns; rows are `wide` bytes apart, columns `apart` bytes. */
static inline __attribute__((always_inline)) Bytes median_of(const uint8_t *from, int64_t wide, int64_t apart, int side) {
    Bytes left[WIDEST * WIDEST];
    int count = 0, most = (side * side + 1) / 2;
#pragma GCC unroll 8
    for (int r = 0; r < side; r++) {
        Bytes row[WIDEST];
#pragma GCC unroll 8
        for (int c = 0; c < side; c++)
            row[c] = bytes(from + r * wide + c * apart);
        sort(row, side);
#pragma GCC unroll 8
        for (int c = 0; c < side; c++)
            if ((r + 1) * (c + 1) <= most && (side - r) * (side - c) <= most)
                left[count++] = row[c];
    }
    return middle(left, side == 3 ? 3 : side == 5 ? 8 : 16);
}

/* Sort the columns of `side` rows into rows that are `wide` bytes apart. */
static inline __attribute__((always_inline)) void sort_columns(const uint8_t *const *rows, int64_t length, int64_t wide,
                                                               int side, uint8_t *to) {
    int64_t i = 0;
    Bytes v[WIDEST];
    for (; i + AT_ONCE <= length; i += AT_ONCE) {
#pragma GCC unroll 8
        for (int k = 0; k < side; k++)
            v[k] = bytes(rows[k] + i);
        sort(v, side);
#pragma GCC unroll 8
        for (int k = 0; k < side; k++)
            memcpy(to + k * wide + i, v + k, sizeof *v);
    }
    uint8_t rest[WIDEST][AT_ONCE] = {{0}};
    for (int k = 0; k < side; k++) {
        memcpy(rest[k], rows[k] + i, (size_t)(length - i));
        v[k] = bytes(rest[k]);
    }
    sort(v, side);
    for (int k = 0; k < side; k++)
        memcpy(to + k * wide + i, v + k, (size_t)(length - i));
}

static inline __attribute__((always_inline)) void medians(const uint8_t *source, int64_t rows, int64_t columns,
                                                          int64_t channels, int side, uint8_t *workspace, uint8_t *target) {
    int64_t far = side / 2, length = columns * channels, wide = length + 2 * far * channels + AT_ONCE;
    uint8_t *inner = workspace + far * channels;
    for (int64_t y = 0; y < rows; y++) {
        const uint8_t *about[WIDEST];
        for (int64_t k = 0; k < side; k++)
            about[k] = source + MIN(MAX(y - far + k, 0), rows - 1) * length;
        sort_columns(about, length, wide, side, inner);
        for (int64_t k = 0; k < side; k++)
            for (int64_t i = 0; i < far * channels; i++) { /* the edge pixel repeats beyond the border */
                inner[k * wide - 1 - i] = inner[k * wide + channels - 1 - i % channels];
                inner[k * wide + length + i] = inner[k * wide + length - channels + i % channels];
            }
        for (int64_t i = 0; i < length; i += AT_ONCE) {
            Bytes found = median_of(workspace + i, wide, channels, side);
            if (length - i >= AT_ONCE)
                memcpy(target + y * length + i, &found, sizeof found);
            else
                memcpy(target + y * length + i, &found, (size_t)(length - i));
        }
    }
}

/* Filter an image; beyond its borders the edge pixels repeat.

   source, target: rows x columns x channels uint8 without gaps; they must not overlap; channels: 1, 3 or 4
   side: of the window: 3, 5 or 7
   workspace: side * ((columns + side - 1) * channels + 64) bytes */
KERNEL(median)(const uint8_t *source, int64_t rows, int64_t columns, int64_t channels, int64_t side, uint8_t *workspace,
               uint8_t *target) {
    if (rows < 1 || columns < 1 || channels < 1 || channels > 4 || channels == 2)
        return REFUSED;
    if (side == 3)
        medians(source, rows, columns, channels, 3, workspace, target);
    else if (side == 5)
        medians(source, rows, columns, channels, 5, workspace, target);
    else if (side == 7)
        medians(source, rows, columns, channels, 7, workspace, target);
    else
        return REFUSED;
    return DONE;
}
