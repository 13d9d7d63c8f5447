/* Stain jitter in optical density (ops/stain.py), within a level, for `fast`.

   A logarithm, a matrix and an exponential make each output level a product of three powers, one for each input
   channel. There are 256 of them for each of three channels: only so many are computed for an image, however large. */

#include "kernels.h"
#include "ops.h"

enum { AMOUNTS = 6, GLASS = 8 };

#define FAR 40.0 /* the largest exponent: no product of two leaves the range of float32 */

typedef float Four __attribute__((vector_size(16)));
typedef int32_t FourInts __attribute__((vector_size(16)));

EXPORT int32_t JOIN(channel_sums, ISA)(const uint8_t *, int64_t, const void *, float, float, int32_t *, int64_t, int64_t *,
                                       uint8_t *);

/* exp for numbers within FAR of 0, accurate to some units in the last place: 2^whole times a polynomial of the rest. */
static inline Four exponential(Four x) {
    Four y = x * 1.44269504f, sum = y + 12582912.0f, rest = y - (sum - 12582912.0f);
    Four power = rest * 1.54035304e-4f + 1.33335581e-3f;
    power = power * rest + 9.61812911e-3f;
    power = power * rest + 5.55041087e-2f;
    power = power * rest + 2.40226507e-1f;
    power = power * rest + 6.93147181e-1f;
    power = power * rest + 1.0f;
    return power * (Four)(((FourInts)sum + 127) << 23);
}

/* The factors of each input channel and level for the three output channels, and whether it is glass, which stays
   unchanged (see channel_sums.c). 0 if an exponent is too large. */
static int factors(const double *matrix, const float *logs, double white, Four (*tables)[LEVELS]) {
    for (int32_t c = 0; c < COLOURS; c++) {
        Four weight = {0}, offset = {0};
        for (int32_t to = 0; to < COLOURS; to++) {
            double first = c ? 0.0 : matrix[4 * to + 3], last = matrix[4 * to + c] * logs[LEVELS - 1] + first;
            if (!(first >= -FAR && first <= FAR && last >= -FAR && last <= FAR))
                return 0;
            weight[to] = (float)matrix[4 * to + c], offset[to] = (float)first;
        }
        for (int32_t level = 0; level < LEVELS; level++) {
            tables[c][level] = exponential(weight * logs[level] + offset);
            tables[c][level][3] = level >= white ? GLASS : 0;
        }
    }
    return 1;
}

/* Scale and shift the stains of every pixel.

   source, target: count x 3 uint8; target may be source
   a0, a1, a2, b0, b1, b2: the factor and the offset of each of the three stains
   basis: 7 x 3 x 4: the matrix on logarithms is the first, plus the others times a0, a1, a2, b0, b1 and b2
   logs: 256 float32: the logarithm of each level plus 1
   white: pixels whose channels are all at least that stay unchanged */
KERNEL(stain)(const uint8_t *source, int64_t count, double a0, double a1, double a2, double b0, double b1, double b2,
              const double *basis, const float *logs, double white, uint8_t *target) {
    const double drawn[AMOUNTS] = {a0, a1, a2, b0, b1, b2};
    double matrix[3 * 4];
    _Alignas(64) Four tables[COLOURS][LEVELS];
    for (int32_t k = 0; k < 3 * 4; k++) {
        matrix[k] = basis[k];
        for (int32_t d = 0; d < AMOUNTS; d++)
            matrix[k] += drawn[d] * basis[3 * 4 * (d + 1) + k];
    }
    if (count < 0 || !factors(matrix, logs, white, tables))
        return REFUSED;
    return JOIN(channel_sums, ISA)(source, count, tables[0], 1, 0, 0, 0, 0, target);
}
