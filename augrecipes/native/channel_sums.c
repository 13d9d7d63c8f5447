/* Levels as the product, or the sum, of three table entries, one for each channel of the pixel.

   Stain jitter is such a product: a logarithm, a matrix, an exponential (ops/stain.py). FancyPCA is such a sum. */

#include "kernels.h"
#include "ops.h"

#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { TOGETHER = 8, AHEAD = 2048, AT_ONCE = 4096 };

/* The contribution of a level to red, green and blue, and to a fourth number: pixels whose fourth number comes to 128
   or more stay unchanged. */
typedef float Entry __attribute__((vector_size(16), aligned(4)));
typedef double Four __attribute__((vector_size(32), aligned(8)));

/* Tables; what is subtracted from each result; and the largest distance from an integer at which rounding
   is certain. */
typedef struct {
    const Entry (*tables)[LEVELS];
    float less, sure;
} Parts;

#if defined(__AVX2__)
static inline __m256 entries(const Entry *table, uint8_t one, uint8_t other) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256((__m128)table[one]), (__m128)table[other], 1);
}

/* Levels of two pixels, and a mask of those too near to a half to round with certainty. */
static inline __m256i two_pixels(const uint8_t *one, const uint8_t *other, Parts of, int sums, __m256 *doubt) {
    __m256 a = entries(of.tables[0], one[0], other[0]), b = entries(of.tables[1], one[1], other[1]);
    __m256 c = entries(of.tables[2], one[2], other[2]);
    __m256 x = sums ? _mm256_add_ps(_mm256_add_ps(a, b), c) : _mm256_mul_ps(_mm256_mul_ps(a, b), c);
    x = _mm256_min_ps(_mm256_sub_ps(x, _mm256_set1_ps(of.less)), _mm256_set1_ps(255.0f));
    __m256i level = _mm256_cvtps_epi32(x);
    __m256 off = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(x, _mm256_cvtepi32_ps(level)));
    *doubt = _mm256_cmp_ps(off, _mm256_set1_ps(of.sure), _CMP_GT_OQ);
    return level;
}

/* Levels of eight pixels, of which the first four are in the lower halves of `doubts`; whether any is in doubt. */
static inline int eight_pixels(const uint8_t *from, Parts of, int sums, __m256 doubts[4], uint8_t *to) {
    const __m256i close = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0));
    const __m256i fourth = _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 3, 3, 7, 7, 7, 11, 11, 11, 15, 15, 15, -1, -1, -1, -1));
    __m256i result[4];
    for (int k = 0; k < 4; k++)
        result[k] = two_pixels(from + 3 * k, from + 3 * k + 12, of, sums, &doubts[k]);
    __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(result[0], result[1]), _mm256_packs_epi32(result[2], result[3]));
    __m256i stay = _mm256_shuffle_epi8(bytes, fourth), places = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 0, 0);
    bytes = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(bytes, close), places);
    if (_mm256_movemask_epi8(stay)) {
        __m256i own = _mm256_loadu2_m128i((const __m128i *)(from + 8), (const __m128i *)from);
        own = _mm256_permutevar8x32_epi32(own, _mm256_setr_epi32(0, 1, 2, 3, 6, 7, 0, 0));
        bytes = _mm256_blendv_epi8(bytes, own, _mm256_permutevar8x32_epi32(stay, places));
    }
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(bytes));
    _mm_storel_epi64((__m128i *)(to + 16), _mm256_extracti128_si256(bytes, 1));
    return _mm256_movemask_ps(_mm256_or_ps(_mm256_or_ps(doubts[0], doubts[1]), _mm256_or_ps(doubts[2], doubts[3])));
}
#endif

/* Levels of one pixel; whether one is too near to a half to round with certainty. */
static inline int plain_pixel(const uint8_t *pixel, Parts of, int sums, uint8_t *to) {
    int doubtful = 0, stays = 0;
    Entry a = of.tables[0][pixel[0]], b = of.tables[1][pixel[1]], c = of.tables[2][pixel[2]];
    Entry result = (sums ? a + b + c : a * b * c) - of.less;
    stays = result[3] >= 128;
    for (int32_t k = 0; k < COLOURS; k++) {
        float x = MIN(result[k], 255.0f), level = MAX(x, 0.0f), whole = level + 12582912.0f - 12582912.0f;
        doubtful |= level - whole > of.sure || whole - level > of.sure;
        to[k] = stays ? pixel[k] : (uint8_t)whole;
    }
    return doubtful;
}

static inline int64_t pass(const uint8_t *source, int64_t count, Parts of, int sums, int32_t *doubtful, int64_t workspace,
                           uint8_t *target) {
    int64_t known = 0, x = 0;
#if defined(__AVX2__)
    for (; x + TOGETHER <= count; x += TOGETHER) {
        /* The images of a batch are not in the cache yet: prefetch them. */
        PREFETCH(source + MIN(3 * x + AHEAD, 3 * count - 1), 3);
        __m256 doubts[4];
        int any = eight_pixels(source + 3 * x, of, sums, doubts, target + 3 * x);
        for (int32_t k = 0; doubtful && any && k < TOGETHER; k++)
            if (_mm256_movemask_ps(doubts[k & 3]) >> (k & 4) & 7 && known++ < workspace)
                doubtful[known - 1] = (int32_t)(x + k);
    }
#endif
    for (; x < count; x++)
        if (plain_pixel(source + 3 * x, of, sums, target + 3 * x) && doubtful && known++ < workspace)
            doubtful[known - 1] = (int32_t)x;
    return known;
}

/* The sum or product of three entries for every pixel, less an integer.

   source, target: count x 3 uint8; target may be source
   tables: 3 x 256 x 4 float32: for each channel and level its entries for red, green and blue, and a fourth
           number, see Entry; no sum of three may be below -2^30
   sure:   the distance from an integer, up to a half, within which rounding is certain
   doubtful, workspace: indices of pixels that are not certain, as many as there is room for; NULL: they are not wanted,
           and entries are multiplied
   found:  how many they are */
KERNEL(channel_sums)(const uint8_t *source, int64_t count, const void *tables, float less, float sure,
                     int32_t *doubtful, int64_t workspace, int64_t *found, uint8_t *target) {
    const Parts of = {tables, less, sure};
    if (count < 0 || count > INT32_MAX)
        return REFUSED;
    if (!doubtful)
        pass(source, count, of, 0, NULL, 0, target);
    else
        *found = pass(source, count, of, 1, doubtful, workspace, target);
    return DONE;
}

/* Sum the values of the levels of each channel, one after the other, as numpy does. levels: 256. */
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

/* Sum the values of the levels of each channel, and the products of any two of them.

   entries: 3 x 256 x 4: the value of each level in the channel's own place, and 0 in the others
   sums:    3 x 4: of red, green and blue; of their squares; of red and green, green and blue, blue and red */
KERNEL(moments)(const uint8_t *source, int64_t count, const Four *entries, Four *sums) {
    memset(sums, 0, 3 * sizeof *sums);
    for (int64_t x = 0; x < count;) {
        Four some[3] = {{0}}; /* sums of few numbers first, which loses less to rounding */
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
