/* Stains jittered in optical density (ops/stain.py), within a level: for `fast`.

   A logarithm, a matrix and an exponential make every level that leaves a product of three powers, one of each colour
   that comes in. There are 256 of each, for three colours: so many powers are taken for an image, however large. */

#include "kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { COLOURS = 3, LEVELS = 256, EIGHT = 8, AMOUNTS = 6, AHEAD = 2048 };

#define FAR 40.0 /* of what is raised to a power: no product of two leaves the range of float32 */

typedef float Four __attribute__((vector_size(16)));
typedef int32_t FourInts __attribute__((vector_size(16)));

/* e to the power of numbers within FAR of 0, to some units in the last place: 2^whole times a polynomial of the rest. */
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

/* For each colour that comes in, and its level: its factors in the three that leave, and a 1. 0 where one is too far. */
static int factors(const double *matrix, const float *logs, Four (*tables)[LEVELS]) {
    for (int32_t c = 0; c < COLOURS; c++) {
        Four weight = {0}, offset = {0};
        for (int32_t to = 0; to < COLOURS; to++) {
            double first = c ? 0.0 : matrix[4 * to + 3], last = matrix[4 * to + c] * logs[LEVELS - 1] + first;
            if (!(first >= -FAR && first <= FAR && last >= -FAR && last <= FAR))
                return 0;
            weight[to] = (float)matrix[4 * to + c], offset[to] = (float)first;
        }
        for (int32_t level = 0; level < LEVELS; level++)
            tables[c][level] = exponential(weight * logs[level] + offset);
    }
    return 1;
}

static void one_pixel(const uint8_t *pixel, const Four (*tables)[LEVELS], uint8_t *to) {
    Four made = tables[0][pixel[0]] * tables[1][pixel[1]] * tables[2][pixel[2]] - 1.0f;
    for (int32_t c = 0; c < COLOURS; c++) {
        float level = made[c] < 255.0f ? made[c] : 255.0f;
        level = level > 0.0f ? level : 0.0f;
        to[c] = (uint8_t)(level + 12582912.0f - 12582912.0f);
    }
}

#if defined(__AVX2__)
/* Levels of two pixels, of which each of the colours is a byte of a word. */
static inline __m256i two_pixels(const uint8_t *one, const uint8_t *other, const Four (*tables)[LEVELS]) {
    __m256 made = _mm256_set1_ps(1.0f);
    for (int32_t c = 0; c < COLOURS; c++) {
        __m256 both = _mm256_castps128_ps256((__m128)tables[c][one[c]]);
        both = _mm256_insertf128_ps(both, (__m128)tables[c][other[c]], 1);
        made = c ? _mm256_mul_ps(made, both) : both;
    }
    made = _mm256_sub_ps(made, _mm256_set1_ps(1.0f));
    return _mm256_cvtps_epi32(_mm256_min_ps(made, _mm256_set1_ps(255.0f)));
}

/* Levels of four pixels: the first two in the lower half, and those four further on in the upper. */
static inline __m256i four_pixels(const uint8_t *from, const Four (*tables)[LEVELS]) {
    return _mm256_packs_epi32(two_pixels(from, from + 12, tables), two_pixels(from + 3, from + 15, tables));
}

static inline void eight_pixels(const uint8_t *from, const Four (*tables)[LEVELS], uint8_t *to) {
    const __m256i close = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0));
    __m256i bytes = _mm256_packus_epi16(four_pixels(from, tables), four_pixels(from + 6, tables));
    bytes = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(bytes, close), _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 0, 0));
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(bytes));
    _mm_storel_epi64((__m128i *)(to + 16), _mm256_extracti128_si256(bytes, 1));
}
#else
static inline void eight_pixels(const uint8_t *from, const Four (*tables)[LEVELS], uint8_t *to) {
    for (int32_t k = 0; k < EIGHT; k++)
        one_pixel(from + 3 * k, tables, to + 3 * k);
}
#endif

/* Every pixel's stains scaled and shifted.

   source, target: count x 3 uint8; target may be source
   a0, a1, a2, b0, b1, b2: by which each of the three stains is multiplied, and what is added to it
   basis: 7 x 3 x 4: the matrix on logarithms is the first, and the others times a0, a1, a2, b0, b1 and b2
   logs: 256 float32: the logarithm of each level and 1 */
KERNEL(stain)(const uint8_t *source, int64_t count, double a0, double a1, double a2, double b0, double b1, double b2,
              const double *basis, const float *logs, uint8_t *target) {
    const double drawn[AMOUNTS] = {a0, a1, a2, b0, b1, b2};
    double matrix[3 * 4];
    _Alignas(64) Four tables[COLOURS][LEVELS];
    for (int32_t k = 0; k < 3 * 4; k++) {
        matrix[k] = basis[k];
        for (int32_t d = 0; d < AMOUNTS; d++)
            matrix[k] += drawn[d] * basis[3 * 4 * (d + 1) + k];
    }
    if (count < 0 || !factors(matrix, logs, tables))
        return REFUSED;
    /* Images of a batch come from memory that is cold, and the first cache is asked for it in time. */
    int64_t x = 0;
    for (; x + EIGHT <= count; x += EIGHT) {
        ASK(source + MIN(3 * x + AHEAD, 3 * count - 1), 3);
        eight_pixels(source + 3 * x, (const Four(*)[LEVELS])tables, target + 3 * x);
    }
    for (; x < count; x++)
        one_pixel(source + 3 * x, (const Four(*)[LEVELS])tables, target + 3 * x);
    return DONE;
}
