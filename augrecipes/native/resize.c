/* Bilinear resize with the bits of OpenCV's INTER_LINEAR, in integers with weights of 11 bits each way; INTER_AREA
   does the same where a side is enlarged, but with other places.

   compiler/kernels/opencv_bits.py leaves to OpenCV what this kernel refuses. */

#include "lanes.h"
#include "sampled.h"
#include "windows.h"

enum { ACROSS = 256, WHOLE = 2048, PIXELS = 4 }; /* PIXELS: in a register of 64 bytes, each eight numbers of 16 bits */

/* The values of a pixel between columns and rows: four for colours. */
static inline int values_of(int channels) { return channels == 1 ? 1 : 4; }

/* Some columns of the result: the byte offsets of their first source pixels, and two weights each. With AVX-512 and
   colours also the size of groups, PIXELS, 2 or 0, whose source pixels are all within sixteen bytes, and their
   offsets in these. */
typedef struct {
    int32_t at[ACROSS];
    int16_t weights[ACROSS][8]; /* the two weights, four times */
    int16_t pairs[ACROSS][2];   /* the two weights */
    uint8_t picks[ACROSS][2];   /* offsets of both pixels, from the first of eight columns */
    uint8_t bytes[ACROSS][16];
    int group;
} Columns;

/* The scale of one side: source pixels for each pixel of the result, and the inverse; whether INTER_AREA's places are
   used. */
typedef struct {
    double step, inverse;
    int areas;
} Scale;

static inline Scale scale_of(int64_t size, int64_t from, int areas) {
    double inverse = (double)size / (double)from;
    return (Scale){1.0 / inverse, inverse, areas};
}

/* The source pixel before a pixel of the result, and the weight of the next one. */
static inline int32_t place(int64_t to, const Scale *scale, float *weight) {
    if (scale->areas) { /* the weight of the next one is its covered part */
        double first = floor((double)to * scale->step);
        float behind = (float)((double)(to + 1) - (first + 1) * scale->inverse);
        *weight = behind <= 0 ? 0 : behind - floorf(behind);
        return (int32_t)first;
    }
    float at = (float)(((double)to + 0.5) * scale->step - 0.5);
    float below = floorf(at);
    *weight = at - below;
    return (int32_t)below;
}

#if defined(__AVX512BW__)
static void find_groups(Columns *c, int64_t count, int channels) {
    c->group = channels == 1 ? 0 : PIXELS;
    for (int64_t x = 0; x < count && c->group; x++)
        while (c->group && c->at[x] - c->at[x & ~(int64_t)(c->group - 1)] + 2 * channels > 16)
            c->group = c->group > 2 ? 2 : 0;
    for (int64_t x = 0; x < count && c->group; x++)
        for (int k = 0; k < 8; k++) {
            int32_t begin = c->at[x] - c->at[x & ~(int64_t)(c->group - 1)];
            c->bytes[x][2 * k] = (uint8_t)(k / 2 < channels ? begin + k / 2 + k % 2 * channels : 128);
            c->bytes[x][2 * k + 1] = 128; /* selects a zero */
        }
}
#endif

static void find_columns(Columns *c, int64_t first, int64_t count, const Scale *scale, int64_t columns,
                         int channels) {
    for (int64_t x = 0; x < count; x++) {
        float weight;
        int32_t at = place(first + x, scale, &weight);
        if (at < 0)
            at = 0, weight = 0;
        if (at >= columns - 1)
            at = (int32_t)columns - 1, weight = 0;
        c->at[x] = at * channels;
        c->picks[x][0] = (uint8_t)(c->at[x] - c->at[x & ~(int64_t)7]), c->picks[x][1] = (uint8_t)(c->picks[x][0] + 1);
        c->pairs[x][0] = (int16_t)rintf((1.0f - weight) * WHOLE), c->pairs[x][1] = (int16_t)rintf(weight * WHOLE);
        for (int k = 0; k < 4; k++)
            memcpy(c->weights[x] + 2 * k, c->pairs[x], sizeof c->pairs[x]);
    }
#if defined(__AVX512BW__)
    find_groups(c, count, channels);
#endif
}

#if defined(__AVX2__)
/* The two neighbours of each of eight columns, for one channel. */
static inline __m128i neighbours_of_eight(const Columns *c, int64_t x, const uint8_t *row) {
    if (c->at[x + 7] - c->at[x] < 15)
        return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(row + c->at[x])), _mm_loadu_si128((const __m128i *)c->picks[x]));
    uint64_t eight[2] = {0};
    for (int k = 7; k >= 0; k--) {
        uint16_t pair;
        memcpy(&pair, row + c->at[x + k], sizeof pair);
        eight[k / 4] = eight[k / 4] << 16 | pair;
    }
    return _mm_set_epi64x((int64_t)eight[1], (int64_t)eight[0]);
}
#endif

/* Filter one row horizontally, to values of 15 bits; `end`: of the bytes that may be read. */
static inline void blend_columns(const Columns *c, int64_t count, const uint8_t *row, const uint8_t *end, int channels,
                                 int16_t *restrict to) {
    int64_t x = 0;
#if defined(__AVX2__)
    const __m128i pairs = channels == 3 ? _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1)
                                        : _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);
    const __m256i both = _mm256_broadcastsi128_si256(pairs);
    const int some = channels == 1 ? 8 : 4;
    int64_t whole = count & ~(int64_t)(some - 1);
    while (whole && row + c->at[whole - 1] + 16 > end)
        whole -= some;
    for (; channels == 1 && x < whole; x += some) {
        __m256i words = _mm256_cvtepu8_epi16(neighbours_of_eight(c, x, row));
        words = _mm256_srai_epi32(_mm256_madd_epi16(words, _mm256_loadu_si256((const __m256i *)c->pairs[x])), 4);
        words = _mm256_permute4x64_epi64(_mm256_packs_epi32(words, words), 0xd8);
        _mm_storeu_si128((__m128i *)(to + x), _mm256_castsi256_si128(words));
    }
#if defined(__AVX512BW__)
    for (; c->group && x < whole; x += PIXELS) {
        const int32_t *at = c->at + x;
        __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(row + at[0]))), high = low;
        if (c->group < PIXELS)
            high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(row + at[2])));
        __m512i bytes = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
        bytes = _mm512_shuffle_epi8(bytes, _mm512_loadu_si512(c->bytes[x]));
        bytes = _mm512_srai_epi32(_mm512_madd_epi16(bytes, _mm512_loadu_si512(c->weights[x])), 4);
        _mm256_storeu_si256((__m256i *)(void *)(to + 4 * x), _mm512_cvtepi32_epi16(bytes));
    }
#endif
    for (; x < whole; x += some) {
        __m256i sums[2];
        for (int k = 0; k < 2; k++) {
            const int32_t *at = c->at + x + 2 * k;
            __m256i bytes = _mm256_inserti128_si256(
                _mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)(row + at[0]))),
                _mm_loadl_epi64((const __m128i *)(row + at[1])), 1);
            __m256i weights = _mm256_loadu_si256((const __m256i *)c->weights[x + 2 * k]);
            sums[k] = _mm256_srai_epi32(_mm256_madd_epi16(_mm256_shuffle_epi8(bytes, both), weights), 4);
        }
        __m256i values = _mm256_permute4x64_epi64(_mm256_packs_epi32(sums[0], sums[1]), 0xd8);
        _mm256_storeu_si256((__m256i *)(to + 4 * x), values);
    }
#else
    (void)end;
#endif
    for (; x < count; x++)
        for (int k = 0; k < values_of(channels); k++) {
            const uint8_t *at = row + c->at[x] + MIN(k, channels - 1);
            int32_t second = c->pairs[x][1] ? at[channels] * c->pairs[x][1] : 0;
            to[values_of(channels) * x + k] = (int16_t)((at[0] * c->pairs[x][0] + second) >> 4);
        }
}

/* Filter two rows vertically to pixels. */
static inline void blend_rows(const int16_t *restrict above, const int16_t *restrict below, int64_t count,
                              int16_t first, int16_t second, int channels, uint8_t *restrict to) {
    int64_t x = 0;
#if defined(X86)
    const Register one = X86(set1_epi16)(first), two = X86(set1_epi16)(second), half = X86(set1_epi16)(2);
    for (const int some = channels == 1 ? sizeof(Register) : LANES; x + some <= count; x += some) {
        Register sums[2];
        for (int k = 0; k < 2; k++) {
            Register a, b;
            memcpy(&a, above + values_of(channels) * x + 2 * LANES * k, sizeof a);
            memcpy(&b, below + values_of(channels) * x + 2 * LANES * k, sizeof b);
            a = X86(add_epi16)(X86(mulhi_epi16)(a, one), X86(mulhi_epi16)(b, two));
            sums[k] = X86(srai_epi16)(X86(add_epi16)(a, half), 2);
        }
        Register bytes = pack_in_order(sums[0], sums[1]);
        if (channels == 1)
            memcpy(to + x, &bytes, sizeof bytes);
        else
            store_pixels((Words)bytes, LANES, channels, to + channels * x);
    }
#endif
    for (; x < count; x++)
        for (int k = 0; k < channels; k++) {
            int64_t at = values_of(channels) * x + k;
            int32_t sum = (above[at] * first >> 16) + (below[at] * second >> 16);
            to[channels * x + k] = (uint8_t)((sum + 2) >> 2);
        }
}

/* Resize the columns from `x` on of the window; a pixel is `scale->step` rows of the image high. */
static inline void resize_columns(const Resizing *r, int channels, const Columns *c, int64_t count, int64_t x,
                                  const Scale *scale) {
    int16_t values[2][4 * ACROSS];
    int64_t held[2] = {-1, -1}, asked = -1; /* asked: the last row that was prefetched */
    float unused;
    const uint8_t *end = r->source + (r->rows - 1) * r->step + r->columns * channels;
    for (int64_t y = 0; y < r->height; y++) {
        float weight;
        int64_t at = place(r->top + y, scale, &weight);
        const int64_t wanted[2] = {MIN(MAX(at, 0), r->rows - 1), MIN(MAX(at + 1, 0), r->rows - 1)};
        int slots[2];
        for (int k = 0; k < 2; k++) {
            int other = k ? slots[0] : held[0] == wanted[1] ? 0 : 1; /* is not overwritten */
            slots[k] = held[0] == wanted[k] ? 0 : held[1] == wanted[k] ? 1 : 1 - other;
            if (held[slots[k]] != wanted[k]) {
                held[slots[k]] = wanted[k];
                blend_columns(c, count, r->source + wanted[k] * r->step, end, channels, values[slots[k]]);
            }
        }
        int64_t next = y + 1 < r->height ? place(r->top + y + 1, scale, &unused) + 1 : -1;
        for (int64_t row = MAX(next - 1, asked + 1); row <= MIN(next, r->rows - 1); asked = row++)
            prefetch_bytes(r->source + row * r->step, c->at[0], c->at[count - 1] + channels);
        blend_rows(values[slots[0]], values[slots[1]], count, (int16_t)rintf((1.0f - weight) * WHOLE),
                   (int16_t)rintf(weight * WHOLE), channels, r->target + y * r->step_to + x * channels);
    }
}

/* Channels: 1, 3 or 4. */
static inline int32_t resize_linearly(const Resizing *r, Scale down, Scale across) {
    Columns c;
    if (r->channels != 1 && r->channels != 3 && r->channels != 4)
        return REFUSED;
    for (int64_t x = 0; x < r->width; x += ACROSS) {
        int64_t count = MIN(ACROSS, r->width - x);
        find_columns(&c, r->left + x, count, &across, r->columns, (int)r->channels);
        CALL_WITH(r->channels, resize_columns(r, N, &c, count, x, &down))
    }
    return DONE;
}

RESIZE(resize) { return resize_linearly(r, scale_of(r->tall, r->rows, 0), scale_of(r->wide, r->columns, 0)); }
RESIZE(enlarge) { return resize_linearly(r, scale_of(r->tall, r->rows, 1), scale_of(r->wide, r->columns, 1)); }

RESIZE_BY(resize_by) {
    const Scale scale = {1.0 / factor, factor, 0};
    return resize_linearly(r, scale, scale);
}
