/* Area resize (OpenCV's INTER_AREA): each pixel is the mean of the image under it, edge pixels weighted by their
   covered part.

   Bits: those of OpenCV: float32 without fused multiply-add, summed along rows first. Summing down columns first is
   several times as fast but rounds differently: so that is done, and where a sum is so near to a half that it might
   round to another level, the pixel is computed again in OpenCV's order. compiler/kernels/opencv_bits.py leaves to
   OpenCV what this kernel refuses.
   Law: tests/laws/test_kernels.py (rows `shrink`, `shrink_by`), tests/laws/test_hard_images.py (halves). */

#include <math.h>
#include <string.h>

#include "lanes.h"
#include "windows.h"

enum { ACROSS = 256 };

typedef float Pixel __attribute__((vector_size(16)));

/* The source of a row or column of the result: `count` of the image from `first` on, and their weights. */
typedef struct {
    int32_t first, count;
    float before, whole, behind;
} Share;

/* The share of pixel `at`, each `scale` wide, in an image `size` wide. */
static Share share_of(int64_t at, double scale, int64_t size) {
    double begin = (double)at * scale, end = begin + scale, width = MIN(scale, (double)size - begin);
    int64_t one = (int64_t)ceil(begin), two = (int64_t)floor(end);
    two = MIN(two, size - 1);
    one = MIN(one, two);
    Share s = {(int32_t)one, (int32_t)(two - one), 0, (float)(1.0 / width), 0};
    s.before = s.behind = s.whole;
    if ((double)one - begin > 1e-3) {
        s.first--, s.count++;
        s.before = (float)(((double)one - begin) / width);
    }
    if (end - (double)two > 1e-3) {
        s.count++;
        s.behind = (float)(MIN(MIN(end - (double)two, 1.0), width) / width);
        s.before = s.count == 1 ? s.behind : s.before; /* only the last pixel, nothing before it */
    }
    return s;
}

/* Convert a pixel to floats; with three channels the fourth is the byte after them, or 0. */
static inline Pixel pixel(const uint8_t *at, int bytes) {
    uint32_t word = 0;
    memcpy(&word, at, bytes);
#if defined(__AVX2__)
    return (Pixel)_mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_cvtsi32_si128((int32_t)word)));
#else
    return (Pixel){(float)(word & 255), (float)(word >> 8 & 255), (float)(word >> 16 & 255), (float)(word >> 24)};
#endif
}

/* Sum a row of the image over columns; `bytes` of each pixel are read. */
static inline void sum_columns(const Share *shares, int64_t count, const uint8_t *row, int channels, int bytes,
                               Pixel *restrict to) {
    for (int64_t x = 0; x < count; x++) {
        const Share *s = &shares[x];
        const uint8_t *at = row + (int64_t)s->first * channels, *last = at + (s->count - 1) * channels;
        Pixel sum = pixel(at, bytes) * s->before;
        for (at += channels; at < last; at += channels)
            sum += pixel(at, bytes) * s->whole;
        if (at == last)
            sum += pixel(at, bytes) * s->behind;
        to[x] = sum;
    }
}

enum { SPAN = 4096 }; /* values of a row at a time */

/* Values that are summed together. */
#if defined(X86)
typedef Floats Some;
static inline Some values_at(const uint8_t *at) { return floats(from_bytes(at)); }
#else
typedef Pixel Some;
static inline Some values_at(const uint8_t *at) { return pixel(at, 4); }
#endif
enum { AT_ONCE = sizeof(Some) / sizeof(float) };

/* The source rows of a row of the result, and their weights; `source` begins with the present columns. */
typedef struct {
    const uint8_t *source, *end;
    int64_t step;
    Share share;
    int64_t wanted; /* rows to prefetch: from the first of this share to the end of the next one */
} Rows;

static inline float weight_of(const Share *s, int32_t k) {
    return k == 0 ? s->before : k == s->count - 1 ? s->behind : s->whole;
}

enum { VECTORS = 4 };

/* Sum down columns, for some vectors of values from `x` on. */
static inline void add_down(const Rows *r, int64_t x, int vectors, float *restrict to) {
    const uint8_t *at = r->source + r->share.first * r->step + x;
    Some sums[VECTORS] = {{0}};
    for (int32_t k = 0; k < r->share.count; k++, at += r->step) {
        float weight = weight_of(&r->share, k);
        for (int i = 0; i < vectors; i++)
            sums[i] += values_at(at + i * AT_ONCE) * weight;
    }
    for (int64_t k = r->share.count; k < r->wanted; k++, at += r->step)
        PREFETCH(at, 2);
    for (int i = 0; i < vectors; i++)
        memcpy(to + i * AT_ONCE, &sums[i], sizeof sums[i]);
}

/* The same for `count` values. */
static inline void sum_rows(const Rows *r, int64_t x, int64_t count, float *restrict to) {
    int64_t i = 0;
    for (; i + VECTORS * AT_ONCE <= count; i += VECTORS * AT_ONCE)
        add_down(r, x + i, VECTORS, to + i);
    for (; count >= AT_ONCE && i < count; i += AT_ONCE) {
        int64_t at = MIN(i, count - AT_ONCE);
        add_down(r, x + at, 1, to + at);
    }
    for (; i < count; i++) {
        const uint8_t *at = r->source + r->share.first * r->step + x + i;
        to[i] = 0;
        for (int32_t k = 0; k < r->share.count; k++)
            to[i] += (float)at[k * r->step] * weight_of(&r->share, k);
    }
}

/* A pixel of the result, summed in OpenCV's order. */
static Pixel in_order(const Rows *r, const Share *share, int channels) {
    Pixel sum = {0}, row;
    for (int32_t k = 0; k < r->share.count; k++) {
        const uint8_t *from = r->source + (r->share.first + k) * r->step;
        int whole = from + (share->first + share->count - 1) * channels + 4 <= r->end;
        sum_columns(share, 1, from, channels, whole ? 4 : channels, &row);
        sum = k ? sum + row * weight_of(&r->share, k) : row * weight_of(&r->share, k);
    }
    return sum;
}

/* Round some pixels to integers; whether one is nearer to a half than `off`. */
static inline int round_some(const Pixel *pixels, float off, Words *words) {
    float flat[4 * LANES], farthest = 0.5f - off;
    uint8_t bytes[4 * LANES];
    int32_t near = 0;
    memcpy(flat, pixels, sizeof flat);
    for (int i = 0; i < 4 * LANES; i++) {
        float shifted = flat[i] + 12582912.0f, rest = flat[i] - (shifted - 12582912.0f); /* adding 1.5 * 2^23 rounds */
        int32_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        bytes[i] = (uint8_t)bits;
        near |= fabsf(rest) > farthest;
    }
    memcpy(words, bytes, sizeof bytes);
    return near;
}

/* Make a row of the result, from column sums of which the first is that of value `x` of the image. */
static inline void shrink_row(const Rows *r, const Share *shares, int64_t count, const float *sums, int64_t x, int channels,
                              uint8_t *restrict to) {
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t some = MIN(LANES, count - i);
        Pixel pixels[LANES] = {0};
        Words words;
        int32_t most = 0;
        for (int64_t k = 0; k < some; k++) {
            const Share *s = &shares[i + k];
            const float *at = sums + (int64_t)s->first * channels - x, *last = at + (s->count - 1) * channels;
            Pixel next, sum, inner = {0};
            memcpy(&next, at, sizeof next);
            sum = next * s->before;
            for (at += channels; at < last; at += channels) {
                memcpy(&next, at, sizeof next);
                inner += next;
            }
            memcpy(&next, last, sizeof next);
            pixels[k] = sum + inner * s->whole + next * (s->count > 1 ? s->behind : 0);
            most = MAX(most, s->count);
        }
        /* Both orders have so many operations, each with an error of 2^-24 of at most 256. */
        float off = (float)(most + r->share.count + 4) * 0x1p-15f;
        if (round_some(pixels, off, &words)) {
            for (int64_t k = 0; k < some; k++) {
                int near = 0;
                for (int c = 0; c < channels; c++)
                    near |= fabsf(pixels[k][c] - rintf(pixels[k][c])) > 0.5f - off;
                if (near)
                    pixels[k] = in_order(r, &shares[i + k], channels);
            }
            round_some(pixels, off, &words);
        }
        store_pixels(words, some, channels, to + i * channels);
    }
}

/* Shrink the columns from `x` on of the window; a pixel is `scale` rows of the image high. */
static inline void shrink_columns(const Resizing *r, int channels, const Share *shares, int64_t count, int64_t x, double scale) {
    float sums[SPAN + 4];
    Rows some = {r->source, r->source + (r->rows - 1) * r->step + r->columns * channels, r->step, {0}, 0};
    for (int64_t from = 0; from < count;) {
        int64_t left = (int64_t)shares[from].first * channels, to = from, right = left;
        for (; to < count; to++) {
            int64_t next = ((int64_t)shares[to].first + shares[to].count) * channels;
            if (next - left > SPAN)
                break;
            right = next;
        }
        for (int64_t y = 0; y < r->height; y++) {
            some.share = share_of(r->top + y, scale, r->rows);
            Share next = share_of(r->top + MIN(y + 1, r->height - 1), scale, r->rows);
            some.wanted = next.first + next.count - some.share.first;
            uint8_t *out = r->target + y * r->step_to + (x + from) * channels;
            if (to > from) {
                sum_rows(&some, left, right - left, sums);
                memset(sums + (right - left), 0, 3 * sizeof *sums); /* read after the last pixel */
                shrink_row(&some, shares + from, to - from, sums, left, channels, out);
                continue;
            }
            Pixel sum = in_order(&some, shares + from, channels); /* of more pixels than fit at once */
            for (int c = 0; c < channels; c++)
                out[c] = (uint8_t)MIN(MAX((int32_t)rintf(sum[c]), 0), 255);
        }
        from = MAX(to, from + 1);
    }
}

static int32_t shrink_areas(const Resizing *r, double down, double across) {
    Share shares[ACROSS];
    if (r->channels != 1 && r->channels != 3 && r->channels != 4)
        return REFUSED;
    for (int64_t x = 0; x < r->width; x += ACROSS) {
        int64_t count = MIN(ACROSS, r->width - x);
        for (int64_t i = 0; i < count; i++)
            shares[i] = share_of(r->left + x + i, across, r->columns);
        CALL_WITH(r->channels, shrink_columns(r, N, shares, count, x, down))
    }
    return DONE;
}

/* Channels: 1, 3 or 4; no side is enlarged. */
RESIZE(shrink) {
    if (r->tall > r->rows || r->wide > r->columns)
        return REFUSED;
    return shrink_areas(r, 1.0 / ((double)r->tall / (double)r->rows), 1.0 / ((double)r->wide / (double)r->columns));
}

RESIZE_BY(shrink_by) { return factor <= 1 ? shrink_areas(r, 1.0 / factor, 1.0 / factor) : REFUSED; }
