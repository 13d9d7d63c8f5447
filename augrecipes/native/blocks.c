/* Area resize by integer factors: each pixel of the result is the mean of a block of the image.

   compiler/kernels/opencv_bits.py leaves to OpenCV what this kernel refuses. The arithmetic is OpenCV's: an integer
   sum, times the reciprocal of the block's size in float32, rounded half to even; blocks of 2 x 2 are rounded half up
   where a pixel has 1, 3 or 4 channels. */

#include "lanes.h"
#include "windows.h"

enum { VALUES = 3072, MOST = 16, ACROSS = VALUES / 2 }; /* MOST: of 16 x 16 levels 16 bits hold the sum */

typedef uint16_t Sums __attribute__((vector_size(8)));

/* Add up some rows of values: one or two to begin with, then two at a time. */
static inline void add_rows(const uint8_t *restrict source, int64_t step, int rows, int64_t count,
                            uint16_t *restrict to) {
    int y = 2 - rows % 2;
    const uint8_t *second = source + step;
    for (int64_t x = 0; y == 1 && x < count; x++)
        to[x] = source[x];
    for (int64_t x = 0; y == 2 && x < count; x++)
        to[x] = (uint16_t)(source[x] + second[x]);
    for (; y < rows; y += 2) {
        const uint8_t *one = source + y * step, *two = one + step;
        for (int64_t x = 0; x < count; x++)
            to[x] = (uint16_t)(to[x] + one[x] + two[x]);
    }
}

/* Add up these sums over blocks of `across` pixels, four values each; up to three values after the last one
   are read. */
static inline void add_columns(const uint16_t *restrict sums, int64_t count, int across, int channels,
                               uint16_t *restrict to) {
    for (int64_t x = 0; x < count; x++) {
        Sums sum, next;
        memcpy(&sum, sums, sizeof sum);
        for (int k = 1; k < across; k++) {
            memcpy(&next, sums + k * channels, sizeof next);
            sum += next;
        }
        sums += across * channels;
        memcpy(to + 4 * x, &sum, sizeof sum);
    }
}

/* Multiply sums of blocks by `part`, the reciprocal of their size, and round. */
static inline void divide(const uint16_t *restrict sums, int64_t count, float part, uint8_t *restrict to) {
    for (int64_t i = 0; i < count; i++) {
        float mean = (float)sums[i] * part + 12582912.0f; /* adding 1.5 * 2^23 leaves the integer in the last bits */
        int32_t bits;
        memcpy(&bits, &mean, sizeof bits);
        to[i] = (uint8_t)bits;
    }
}

static inline void quarter(const uint16_t *restrict sums, int64_t count, uint8_t *restrict to) {
    for (int64_t i = 0; i < count; i++)
        to[i] = (uint8_t)((sums[i] + 2) >> 2);
}

/* Channels: 1 to 4; rows and columns must be multiples of those of the result. */
RESIZE(blocks) {
    const int32_t channels = (int32_t)r->channels;
    const int64_t width = r->width, height = r->height;
    if (channels < 1 || channels > 4 || r->rows % r->tall || r->columns % r->wide || r->rows / r->tall > MOST ||
        r->columns / r->wide > MOST)
        return REFUSED;
    int down = (int)(r->rows / r->tall), across = (int)(r->columns / r->wide);
    int64_t most = MIN(VALUES / (across * channels), ACROSS);
    uint16_t sums[VALUES + 3], totals[4 * ACROSS];
    uint8_t means[4 * (ACROSS + LANES)];
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x += most) {
            int64_t count = MIN(most, width - x);
            const uint8_t *from = r->source + (r->top + y) * down * r->step + (r->left + x) * across * channels;
            add_rows(from, r->step, down, count * across * channels, sums);
            switch (channels * 8 + (across <= 4 ? across : 0)) {
            case 24 + 2: add_columns(sums, count, 2, 3, totals); break;
            case 24 + 3: add_columns(sums, count, 3, 3, totals); break;
            case 24 + 4: add_columns(sums, count, 4, 3, totals); break;
            case 32 + 2: add_columns(sums, count, 2, 4, totals); break;
            case 32 + 4: add_columns(sums, count, 4, 4, totals); break;
            default: add_columns(sums, count, across, channels, totals);
            }
            if (down == 2 && across == 2 && channels != 2)
                quarter(totals, 4 * count, means);
            else
                divide(totals, 4 * count, 1.0f / (float)(down * across), means);
            for (int64_t i = 0; i < count; i += LANES) {
                Words words;
                memcpy(&words, means + 4 * i, sizeof words);
                store_pixels(words, MIN(LANES, count - i), channels, r->target + y * r->step_to + (x + i) * channels);
            }
        }
    return DONE;
}
