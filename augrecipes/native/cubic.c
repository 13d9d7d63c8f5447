/* Bicubic resize of three channels: a separable filter of 4 x 4 taps (Keys 1981, a = -0.75), rows first, then
   columns.

   Bits: those of the AVX-512 code that OpenCV calls: float32 with fused multiply-add; distances are rounded to float
   before the polynomial, weights after it. On other processors OpenCV adds in another order:
   compiler/kernels/opencv_bits.py probes that, and leaves to OpenCV what this kernel refuses. The last four
   horizontally filtered rows are kept (`Held`), because the next row of the result needs most of them again.
   Law: tests/laws/test_kernels.py (row `cubic`), tests/laws/test_hard_images.py. */

#include "lanes.h"
#include "ops.h"
#include "sampled.h"
#include "windows.h"

#if defined(X86) && defined(__FMA__) /* on other processors OpenCV adds in another order */

/* Columns at a time; floats of a pixel; taps; pixels that are filtered together; pixels that are stored together;
   bytes that are loaded for a pixel. */
enum { ACROSS = 128, FOUR = 4, TAPS = 4, TOGETHER = LANES / FOUR, PUT = 4, BYTES = 16 };

/* Some columns of the result: the first of the four source pixels of each, and their weights, each of them four
   times. From `first` to `last` all four are inside the image. */
typedef struct {
    int64_t at[ACROSS + PUT];
    float weights[TAPS][FOUR * (ACROSS + PUT)];
    int64_t first, last;
} Columns;

/* Four horizontally filtered rows, and their row numbers. */
typedef struct {
    float values[TAPS][FOUR * (ACROSS + PUT)];
    int64_t rows[TAPS];
} Held;

static inline float polynomial(double d, double a, double b, double c, double e) {
    return (float)(((a * d + b) * d + c) * d + e);
}

/* The first of the four source pixels of a pixel, and their weights: distances are rounded to float before the
   polynomial, weights after it. */
static inline int64_t place(int64_t to, double scale, float weights[TAPS]) {
    double at = ((double)to + 0.5) * scale - 0.5, below = floor(at);
    float behind = (float)(at - below), first = 1.0f + behind, last = 2.0f - behind;
    weights[0] = polynomial(first, -0.75, 3.75, -6, 3);
    weights[1] = polynomial(first - 1.0f, 1.25, -2.25, 0, 1);
    weights[2] = polynomial(last - 1.0f, 1.25, -2.25, 0, 1);
    weights[3] = polynomial(last, -0.75, 3.75, -6, 3);
    return (int64_t)below - 1;
}

static void find_columns(Columns *c, int64_t left, int64_t count, double scale, int64_t columns) {
    float weights[TAPS];
    c->first = count, c->last = 0;
    for (int64_t x = 0; x < count; x++) {
        c->at[x] = place(left + x, scale, weights);
        if (c->at[x] >= 0 && c->at[x] + TAPS <= columns)
            c->first = MIN(c->first, x), c->last = x + 1;
        for (int k = 0; k < TAPS; k++)
            for (int i = 0; i < FOUR; i++)
                c->weights[k][FOUR * x + i] = weights[k];
    }
}

/* Filter pixels one by one, wherever their four source pixels are, also across the border. */
static inline void blend_one_by_one(const Columns *c, int64_t x, int64_t end, const uint8_t *row, int64_t columns,
                                    float *to) {
    for (; x < end; x++)
        for (int i = 0; i < COLOURS; i++) {
            float v[TAPS], w[TAPS];
            for (int k = 0; k < TAPS; k++) {
                v[k] = row[MIN(MAX(c->at[x] + k, 0), columns - 1) * COLOURS + i];
                w[k] = c->weights[k][FOUR * x];
            }
            to[FOUR * x + i] = fmaf(v[3], w[3], fmaf(v[2], w[2], fmaf(v[1], w[1], v[0] * w[0])));
        }
}

/* Filter TOGETHER pixels: BYTES are loaded for each, from its first source pixel on. */
static inline void blend_together(const Columns *c, int64_t x, const uint8_t *row, float *to) {
    const int64_t *at = c->at + x;
    Floats v[TAPS], w[TAPS];
    Register bytes = join_sixteens(row, COLOURS * at[0], COLOURS * at[1], COLOURS * at[2], COLOURS * at[3]);
    for (int k = 0; k < TAPS; k++) {
        char n = (char)(k * COLOURS);
        __m128i pick = _mm_setr_epi8(n, -1, -1, -1, n + 1, -1, -1, -1, n + 2, -1, -1, -1, n + 3, -1, -1, -1);
        v[k] = (Floats)X86(cvtepi32_ps)(X86(shuffle_epi8)(bytes, repeat(pick)));
        w[k] = some(c->weights[k] + FOUR * x);
    }
    Floats sums = fuse(v[3], w[3], fuse(v[2], w[2], fuse(v[1], w[1], v[0] * w[0])));
    memcpy(to + FOUR * x, &sums, sizeof sums);
}

/* Filter vertically, and store PUT pixels of a row of the result. */
static inline void put(const Held *h, const int *order, const Floats *w, int64_t x, uint8_t *to) {
    Ints near[PUT / TOGETHER];
    for (int n = 0; n < PUT / TOGETHER; n++) {
        Floats v[TAPS];
        for (int k = 0; k < TAPS; k++)
            v[k] = some(h->values[order[k]] + FOUR * x + LANES * n);
        near[n] = nearest(fuse(v[0], w[0], v[1] * w[1]) + fuse(v[2], w[2], v[3] * w[3]));
    }
#if defined(__AVX512BW__)
    __m128i bytes = _mm512_cvtusepi32_epi8(_mm512_max_epi32((__m512i)near[0], _mm512_setzero_si512()));
#else
    __m256i one = (__m256i)near[0], two = (__m256i)near[1];
    __m128i bytes = _mm_packus_epi16(_mm_packs_epi32(_mm256_castsi256_si128(one), _mm256_extracti128_si256(one, 1)),
                                     _mm_packs_epi32(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1)));
#endif
    bytes = _mm_shuffle_epi8(bytes, _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    _mm_storeu_si128((__m128i *)(void *)to, bytes);
}

/* Filter one row horizontally; `end`: of the bytes that may be read. */
static inline void blend_columns(const Columns *c, int64_t count, const uint8_t *row, const uint8_t *end, int64_t columns,
                                 float *to) {
    int64_t x = MIN(c->first, count), last = x + MAX(c->last - x, 0) / TOGETHER * TOGETHER;
    blend_one_by_one(c, 0, x, row, columns, to);
    while (last > x && end - row < c->at[last - 1] * COLOURS + BYTES)
        last -= TOGETHER;
    blend_one_by_one(c, last, count, row, columns, to);
    for (; x < last; x += TOGETHER)
        blend_together(c, x, row, to);
}

static inline void blend_rows(const Held *h, const int *order, const float *weights, int64_t count, uint8_t *to) {
    Floats all[TAPS];
    int64_t x = 0;
    for (int k = 0; k < TAPS; k++)
        all[k] = weights[k] - (Floats){0};
    for (; x * COLOURS + BYTES <= count * COLOURS; x += PUT)
        put(h, order, all, x, to + x * COLOURS);
    for (; x < count; x += PUT) {
        uint8_t last[BYTES];
        put(h, order, all, x, last);
        memcpy(to + x * COLOURS, last, (size_t)(MIN(PUT, count - x) * COLOURS));
    }
}

/* Three channels only. */
RESIZE(cubic) {
    if (r->channels != COLOURS)
        return REFUSED;
    double down = (double)r->rows / (double)r->tall, across = (double)r->columns / (double)r->wide;
    const uint8_t *end = r->source + (r->rows - 1) * r->step + r->columns * COLOURS;
    Columns c = {0};
    for (int64_t x = 0; x < r->width; x += ACROSS) {
        Held h = {.rows = {-1, -1, -1, -1}};
        int64_t count = MIN(ACROSS, r->width - x);
        find_columns(&c, r->left + x, count, across, r->columns);
        for (int64_t y = 0; y < r->height; y++) {
            float weights[TAPS];
            int order[TAPS];
            int64_t first = place(r->top + y, down, weights);
            for (int k = 0; k < TAPS; k++) { /* consecutive rows have different slots */
                int64_t row = MIN(MAX(first + k, 0), r->rows - 1);
                int at = order[k] = (int)(row % TAPS);
                if (h.rows[at] != row)
                    blend_columns(&c, count, r->source + row * r->step, end, r->columns, h.values[at]);
                h.rows[at] = row;
            }
            blend_rows(&h, order, weights, count, r->target + x * COLOURS + y * r->step_to);
        }
    }
    return DONE;
}
#else
RESIZE(cubic) { return r ? REFUSED : DONE; }
#endif
