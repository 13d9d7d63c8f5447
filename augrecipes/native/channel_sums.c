/* Levels that are a product, or a sum, of three numbers out of tables, one for each colour of the pixel.

   Stain jitter is such a product: a logarithm, a matrix, an exponential (ops/stain.py). FancyPCA is such a sum. */

#include "kernels.h"

#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { COLOURS = 3, ENTRY = 4, SOME = 4, AT_ONCE = 4096 };

typedef double Four __attribute__((vector_size(32), aligned(8)));

static inline float joined(float a, float b, int sums) { return sums ? a + b : a * b; }

/* The places in memory of what a pixel's colours stand for. */
static inline const float *entry(const float *tables, int32_t colour, uint8_t level) {
    return tables + (256 * colour + level) * ENTRY;
}

#if defined(__AVX2__)
static inline __m256 entries(const float *tables, int32_t colour, uint8_t one, uint8_t other) {
    __m256 low = _mm256_castps128_ps256(_mm_loadu_ps(entry(tables, colour, one)));
    return _mm256_insertf128_ps(low, _mm_loadu_ps(entry(tables, colour, other)), 1);
}

/* Levels of a pixel and of the next but one, and which of them lie too near to a half to be sure of. */
static inline __m256i two_pixels(const uint8_t *pixel, const float *tables, float less, float sure, int sums,
                                 __m256 *doubt) {
    __m256 a = entries(tables, 0, pixel[0], pixel[6]), b = entries(tables, 1, pixel[1], pixel[7]);
    __m256 c = entries(tables, 2, pixel[2], pixel[8]);
    __m256 x = sums ? _mm256_add_ps(_mm256_add_ps(a, b), c) : _mm256_mul_ps(_mm256_mul_ps(a, b), c);
    x = _mm256_sub_ps(x, _mm256_set1_ps(less));
    __m256i level = _mm256_cvtps_epi32(x);
    __m256 off = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(x, _mm256_cvtepi32_ps(level)));
    *doubt = _mm256_cmp_ps(off, _mm256_set1_ps(sure), _CMP_GT_OQ);
    return level;
}

/* Levels of four pixels, and a bit for each number of which it is not sure: pixels 0, 2, 1, 3. */
static inline __m128i four_pixels(const uint8_t *pixel, const float *tables, float less, float sure, int sums,
                                  int32_t *doubts) {
    __m256 even, odd;
    __m256i levels = two_pixels(pixel, tables, less, sure, sums, &even);
    __m256i others = two_pixels(pixel + 3, tables, less, sure, sums, &odd);
    levels = _mm256_packs_epi32(levels, others);
    *doubts = _mm256_movemask_ps(even) | _mm256_movemask_ps(odd) << 8;
    return _mm_packus_epi16(_mm256_castsi256_si128(levels), _mm256_extracti128_si256(levels, 1));
}

static const int32_t PLACE[SOME] = {0, 8, 4, 12};
#endif

/* Levels of one pixel; whether one of them lies too near to a half to be sure of. */
static int plain_pixel(const uint8_t *pixel, const float *tables, float less, float sure, int sums, uint8_t *to) {
    int doubtful = 0;
    float made[COLOURS];
    for (int32_t c = 0; c < COLOURS; c++)
        made[c] = joined(joined(entry(tables, 0, pixel[0])[c], entry(tables, 1, pixel[1])[c], sums),
                         entry(tables, 2, pixel[2])[c], sums) - less;
    for (int32_t c = 0; c < COLOURS; c++) {
        float x = MIN(MAX(made[c], 0.0f), 255.0f), whole = x + 12582912.0f - 12582912.0f, off = x - whole;
        doubtful |= off > sure || -off > sure;
        to[c] = (uint8_t)whole;
    }
    return doubtful;
}

static inline int64_t pass(const uint8_t *source, int64_t count, const float *tables, float less, float sure, int sums,
                           int32_t *doubtful, int64_t workspace, uint8_t *target) {
    int64_t known = 0, x = 0;
#if defined(__AVX2__)
    for (; x + SOME <= count; x += SOME) {
        int32_t doubts;
        uint8_t close[16];
        __m128i bytes = four_pixels(source + 3 * x, tables, less, sure, sums, &doubts);
        bytes = _mm_shuffle_epi8(bytes, _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
        _mm_storeu_si128((__m128i *)close, bytes);
        memcpy(target + 3 * x, close, 3 * SOME);
        if (doubts)
            for (int32_t k = 0; k < SOME; k++)
                if (doubts >> PLACE[k] & 7 && known++ < workspace)
                    doubtful[known - 1] = (int32_t)(x + k);
    }
#endif
    for (; x < count; x++)
        if (plain_pixel(source + 3 * x, tables, less, sure, sums, target + 3 * x) && known++ < workspace)
            doubtful[known - 1] = (int32_t)x;
    return known;
}

/* Every pixel's product, or sum, of three, less a whole number.

   source, target: count x 3 uint8
   tables: 3 x 256 x 4 float32: for each colour and level what it stands for in red, green and blue, and a 1; nothing
   that comes of three is above 2^30
   sure: how far from a whole number a result may be, up to a half, so that its nearest level is told
   doubtful, workspace: places of pixels of which it is not, as many as there is workspace for
   found: how many there are */
KERNEL(channel_sums)(const uint8_t *source, int64_t count, const float *tables, float less, float sure, int32_t sums,
                 int32_t *doubtful, int64_t workspace, int64_t *found, uint8_t *target) {
    if (count < 0 || count > INT32_MAX)
        return REFUSED;
    *found = sums ? pass(source, count, tables, less, sure, 1, doubtful, workspace, target)
                  : pass(source, count, tables, less, sure, 0, doubtful, workspace, target);
    return DONE;
}

/* What the levels of each colour stand for, summed up one after the other, as numpy does it. levels: 256. */
KERNEL(sum_floats)(const uint8_t *source, int64_t count, const float *levels, float *sums) {
    float red = 0, green = 0, blue = 0;
    for (int64_t x = 0; x < count; x++) {
        red += levels[source[3 * x]];
        green += levels[source[3 * x + 1]];
        blue += levels[source[3 * x + 2]];
    }
    sums[0] = red, sums[1] = green, sums[2] = blue;
    return DONE;
}

static inline Four numbers_of(const uint8_t *pixel, const Four *entries) {
    return entries[pixel[0]] + entries[256 + pixel[1]] + entries[512 + pixel[2]];
}

static inline Four turned(Four colour) { return (Four){colour[1], colour[2], colour[0]}; }

/* What the levels of each colour stand for, summed up, and the products of any two of them.

   entries: 3 x 256 x 4, of each colour its number in its own place, and 0 in the others
   sums: 3 x 4: of red, green and blue; of their squares; of red and green, green and blue, blue and red */
KERNEL(moments)(const uint8_t *source, int64_t count, const Four *entries, Four *sums) {
    memset(sums, 0, 3 * sizeof *sums);
    for (int64_t x = 0; x < count;) {
        Four some[3] = {{0}}; /* few are added to few: so little is rounded off */
        for (int64_t end = MIN(x + AT_ONCE, count); x < end; x += 2) {
            Four one = numbers_of(source + 3 * x, entries), two = {0};
            if (x + 1 < count)
                two = numbers_of(source + 3 * x + 3, entries);
            some[0] += one + two, some[1] += one * one + two * two, some[2] += one * turned(one) + two * turned(two);
        }
        for (int32_t k = 0; k < 3; k++)
            sums[k] += some[k];
    }
    return DONE;
}
