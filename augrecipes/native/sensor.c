/* ISO noise as albumentations' ISONoise adds it: Poisson counts for lightness and normal numbers for hue, in HLS.

   Normal numbers come from PCG64 by numpy's ziggurat (see generator.h), Poisson counts of small means from products
   of uniform numbers (Knuth), as in numpy's Generator.poisson. `normal_strips` finds the ziggurat's tables by
   bisection of numpy's own function, so that none is copied.

   Bits: numpy's for numbers, OpenCV's for colours; ops/opencv_variants.py probes how both round here. If the last bit
   of a library's exp or log decides, the sample is refused.
   Law: tests/laws/test_kernels.py (row `numpy_normals`), tests/laws/test_native_points.py. */

#include <math.h>

#include "generator.h"
#include "hls.h"

/* A stream of words for numpy's function, of which only the first is chosen; `asked`: how many it read. */
typedef struct {
    uint64_t first;
    int64_t asked;
} ProbeWords;

static uint64_t probe_word(void *of) {
    ProbeWords *t = of;
    return t->asked++ ? UINT64_C(1) << 63 : t->first;
}

static double probe_unit(void *of) { return unit_of(probe_word(of)); }

/* Find, by calling numpy's function, the bound of the fast path and the factor of each of its 256 strips. */
KERNEL(normal_strips)(const void *normal, uint64_t *bounds, double *widths) {
    ProbeWords words;
    Words64 asked = {&words, probe_word, 0, probe_unit, probe_word};
    for (uint64_t strip = 0; strip < STRIPS; strip++) {
        words = (ProbeWords){strip | 1 << 9, 0};
        widths[strip] = normal_at(normal)(&asked);
        uint64_t low = 0, high = UINT64_C(1) << 52; /* all below `low` are in the fast path, none from `high` on */
        while (low < high) {
            uint64_t middle = (low + high) / 2;
            words = (ProbeWords){strip | middle << 9, 0};
            normal_at(normal)(&asked);
            if (words.asked == 1)
                low = middle + 1;
            else
                high = middle;
        }
        bounds[strip] = low;
    }
    return DONE;
}

/* Standard normal numbers, as default_rng(seed) gives them. */
KERNEL(numpy_normals)(int64_t seed, const void *normal, const uint64_t *bounds, const double *widths, double *out,
                      int64_t count) {
    Generator words;
    const Ziggurat ziggurat = {normal_at(normal), bounds, widths};
    if (seed < 0 || seed > UINT32_MAX)
        return REFUSED;
    begin_words(&words, (uint32_t)seed);
    some_normals(&words, &ziggurat, out, count);
    return DONE;
}

static inline float part_of_white(uint8_t level) { return (float)level / 255.0f; }

enum { SUMS = 16 }; /* independent partial sums, which compilers vectorise */

/* Mean and variance of the lightness of pixels. */
static void measure(const uint8_t *source, int64_t count, double *mean, double *variance) {
    uint8_t workspace[COLOURS][ACROSS] = {{0}};
    double sums[SUMS] = {0}, squares[SUMS] = {0};
    for (int64_t at = 0; at < count; at += ACROSS) {
        int64_t some = MIN(ACROSS, count - at);
        float light[ACROSS];
        take_apart(source + 3 * at, some, workspace);
        for (int64_t x = 0; x < ACROSS; x++) {
            uint8_t most = MAX(MAX(workspace[0][x], workspace[1][x]), workspace[2][x]);
            uint8_t least = MIN(MIN(workspace[0][x], workspace[1][x]), workspace[2][x]);
            float of_most = part_of_white(most), of_least = part_of_white(least);
            light[x] = x < some ? (of_most + of_least) * 0.5f : 0.0f;
        }
        for (int64_t x = 0; x < ACROSS; x += SUMS)
            for (int k = 0; k < SUMS; k++) {
                double one = light[x + k];
                sums[k] += one, squares[k] += one * one;
            }
    }
    double sum = 0, of_squares = 0;
    for (int k = 0; k < SUMS; k++)
        sum += sums[k], of_squares += squares[k];
    *mean = sum / (double)count;
    *variance = of_squares / (double)count - *mean * *mean;
}

enum { MOST_PHOTONS = 255 };
static const double MULTIPLIED = 10.0; /* numpy uses products for rates below */
static const double SURE = 1e-11, UNSURE = 1e-7, FAR_ROUND = 1e4;

/* The photon counts of pixels, for a mean of `rate`, as numpy's Generator.poisson draws them. 0 if a product is too
   near to the bound, whose relative error is `off` at most. */
static int count_photons(Generator *g, double rate, double off, uint8_t *counts, int64_t pixels) {
    const double bound = exp(-rate), above = bound * (1 + off), below = bound * (1 - off);
    for (int64_t i = 0; i < pixels; i++) {
        double product = next_unit_of(g);
        int count = 0;
        while (product > above && count < MOST_PHOTONS) {
            count++;
            product *= next_unit_of(g);
        }
        if (!(product < below))
            return 0;
        counts[i] = (uint8_t)count;
    }
    return 1;
}

/* The deviation of hues in degrees, and the fraction of what is missing to white that a photon adds. */
typedef struct {
    double hue, light;
} Amounts;

static inline void add_numbers(Planes p, int64_t count, const double *turns, const uint8_t *photons, Amounts of) {
    for (int64_t x = 0; x < count; x++) {
        double lighter = (double)photons[x] * of.light * (double)(1.0f - p[1][x]);
        float light = p[1][x] + (float)lighter;
        p[0][x] = (float)((double)p[0][x] + of.hue * turns[x]);
        p[1][x] = MIN(MAX(light, 0.0f), 1.0f);
    }
}

static inline __attribute__((always_inline)) void there_and_back(Planes p, int64_t count, const double *turns,
                                                                 const uint8_t *photons, Amounts of, Way way) {
    to_hls(p, count, 360.0f, way);
    add_numbers(p, count, turns, photons, of);
    from_hls(p, count, 360.0f, way);
}

static inline uint8_t as_level(float x) {
    return (uint8_t)(int32_t)(MIN(MAX(x, 0.0f), 1.0f) * 255.0f + 12582912.0f - 12582912.0f);
}

/* Add noise.

   source, target: rows x columns x 3 uint8 without gaps; target may be source
   seed: of numpy's generator, 0..2^32 - 1
   color_shift, intensity: as drawn
   normal, bounds, widths: numpy's random_standard_normal, and the tables of normal_strips
   lanes: pixels that OpenCV processes together; fused: whether it uses fused multiply-add
   counts: workspace of rows x columns bytes */
KERNEL(sensor_noise)(const uint8_t *source, int64_t rows, int64_t columns, int64_t seed, double color_shift,
                     double intensity, const void *normal, const uint64_t *bounds, const double *widths, int64_t lanes,
                     int32_t fused, uint8_t *counts, uint8_t *target) {
    const Ziggurat ziggurat = {normal_at(normal), bounds, widths};
    const Amounts of = {color_shift * intensity, intensity};
    double mean, variance;
    Generator words;
    if (rows < 1 || columns < 1 || lanes < 1 || seed < 0 || seed > UINT32_MAX || !(intensity > 0) ||
        !(of.hue >= 0 && of.hue < FAR_ROUND))
        return REFUSED;
    measure(source, rows * columns, &mean, &variance);
    /* OpenCV sums in another order: if nearly all pixels have the same lightness, the deviation is uncertain. */
    double off = SURE * (1 + mean * mean / MAX(variance, 1e-300)), rate = sqrt(MAX(variance, 0)) * intensity;
    if (!(off < UNSURE && rate < MULTIPLIED * (1 - UNSURE)))
        return REFUSED;
    begin_words(&words, (uint32_t)seed);
    if (!count_photons(&words, rate, off * (1 + rate), counts, rows * columns))
        return REFUSED;
    uint8_t workspace[COLOURS][ACROSS];
    Planes planes;
    double turns[ACROSS];
    int64_t body = columns - columns % lanes;
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0, some; x < columns; x += some) {
            int64_t at = y * columns + x;
            some = MIN(ACROSS, (x < body ? body : columns) - x);
            take_apart(source + 3 * at, some, workspace);
            for (int c = 0; c < COLOURS; c++)
                for (int64_t k = 0; k < some; k++)
                    planes[c][k] = part_of_white(workspace[c][k]);
            some_normals(&words, &ziggurat, turns, some);
            if (x >= body)
                there_and_back(planes, some, turns, counts + at, of, (Way){1, fused != 0});
            else if (fused)
                there_and_back(planes, some, turns, counts + at, of, (Way){0, 1});
            else
                there_and_back(planes, some, turns, counts + at, of, (Way){0, 0});
            for (int c = 0; c < COLOURS; c++)
                for (int64_t k = 0; k < some; k++)
                    workspace[c][k] = as_level(planes[c][k]);
            put_together(workspace, some, target + 3 * at);
        }
    return DONE;
}
