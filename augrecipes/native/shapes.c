/* Source places of distortions, and levels through one of several tables, with the bits of albumentations. */

#include "kernels.h"

enum { LANES = 16, MOST = 128, PARTS = 8 };

/* Sums of a few numbers for each pixel, in the order in which numpy adds those of a row. */
static inline void sums_of(float (*terms)[LANES], int64_t count, float *restrict sums) {
    float parts[PARTS][LANES];
    int64_t at = count < PARTS ? 1 : count - count % PARTS;
    if (count < PARTS)
        for (int i = 0; i < LANES; i++)
            sums[i] = terms[0][i];
    else {
        for (int k = 0; k < PARTS; k++)
            for (int i = 0; i < LANES; i++)
                parts[k][i] = terms[k][i];
        for (int64_t k = PARTS; k < at; k++)
            for (int i = 0; i < LANES; i++)
                parts[k % PARTS][i] += terms[k][i];
        for (int i = 0; i < LANES; i++)
            sums[i] = ((parts[0][i] + parts[1][i]) + (parts[2][i] + parts[3][i])) +
                      ((parts[4][i] + parts[5][i]) + (parts[6][i] + parts[7][i]));
    }
    for (int64_t k = at; k < count; k++)
        for (int i = 0; i < LANES; i++)
            sums[i] += terms[k][i];
}

/* For each pixel, the mean of the destinations of points, weighted by the inverse squared distance.

   points: 4 x count: x and y of the points, then of their destinations
   map_x, map_y: rows x columns */
KERNEL(means_of_moves)(const float *points, int64_t count, int64_t rows, int64_t columns, float *map_x, float *map_y) {
    float weights[MOST][LANES], terms[MOST][LANES], all[LANES], sums[LANES];
    if (count < 1 || count > MOST)
        return REFUSED;
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x += LANES) {
            for (int64_t k = 0; k < count; k++) {
                float down = (float)y - points[count + k];
                for (int i = 0; i < LANES; i++) {
                    float across = (float)(int32_t)(x + i) - points[k];
                    weights[k][i] = 1 / (across * across + down * down + 1e-8f);
                }
            }
            sums_of(weights, count, all);
            for (int axis = 0; axis < 2; axis++) {
                for (int64_t k = 0; k < count; k++)
                    for (int i = 0; i < LANES; i++)
                        terms[k][i] = (axis ? weights[k][i] : (weights[k][i] /= all[i])) * points[(2 + axis) * count + k];
                sums_of(terms, count, sums);
                for (int64_t i = 0; i < MIN(LANES, columns - x); i++)
                    (axis ? map_y : map_x)[y * columns + x + i] = sums[i];
            }
        }
    return DONE;
}

/* Look up each pixel, of three channels, in the table `which`, of 256 x 3 levels; 0: unchanged. */
KERNEL(through_tables)(const uint8_t *which, int64_t count, const uint8_t *tables, uint8_t *image) {
    for (int64_t k = 0; k < count; k++, image += 3)
        if (which[k])
            for (int c = 0; c < 3; c++)
                image[c] = tables[768 * which[k] + 3 * image[c] + c];
    return DONE;
}
