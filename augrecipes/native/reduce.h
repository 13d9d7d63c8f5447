/* Reduces an image by an integer factor, where a job will read it: each pixel is the mean of k x k. */

#pragma once

#include "places.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { MARGIN = 2, SLACK = 64 }; /* px around the region that is read; bytes of padding after a row, for whole registers */

/* The part that is reduced, in reduced pixels; reduced pixel (0, 0) begins at (x, y) of the image, less than k from
   its corner; `cut`: whether border pixels were left out; `step`: bytes from row to row. */
typedef struct {
    int64_t x, y, left, top, columns, rows, cut, step;
} Part;

/* The bounds of a quad in the reduced image. Where a border is the same however far outside, most of it is left out:
   places may then be folded to anywhere on the edge of the part. */
static Part part_of(const Source *s, const Quad *q, int64_t k, int64_t x, int64_t y) {
    int64_t left = (int64_t)floor(q->left) - MARGIN, right = (int64_t)floor(q->right) + MARGIN + 2;
    int64_t top = (int64_t)floor(q->top) - MARGIN, bottom = (int64_t)floor(q->bottom) + MARGIN + 2;
    Part p = {x, y, left, top, right - left, bottom - top, 0, 0};
    if (s->border == BORDER_CONSTANT || s->border == BORDER_REPLICATE) {
        int64_t columns = s->columns / k, rows = s->rows / k;
        p.left = MIN(MAX(left, -MARGIN), columns), p.columns = MAX(MIN(right, columns + MARGIN) - p.left, 1);
        p.top = MIN(MAX(top, -MARGIN), rows), p.rows = MAX(MIN(bottom, rows + MARGIN) - p.top, 1);
        p.cut = p.columns != right - left || p.rows != bottom - top;
    }
    p.step = p.columns * s->channels;
    return p;
}

/* A row of the image from `left` on, with folded columns: in place, or copied to `line` where any is folded. */
static const uint8_t *line_of(const Source *s, int64_t y, int64_t left, int64_t count, uint8_t *line) {
    int32_t row = fold((int32_t)y, s->rows, s->border);
    int64_t channels = s->channels;
    const uint8_t *from = s->pixels + row * (int64_t)s->step;
    if (row >= 0 && left >= 0 && left + count <= s->columns)
        return from + left * channels;
    for (int64_t x = 0; x < count; x++) {
        int32_t column = row < 0 ? -1 : fold((int32_t)(left + x), s->columns, s->border);
        if (column >= 0 && column == left + x) { /* contiguous from here on */
            int64_t some = MIN(count - x, s->columns - column);
            memcpy(line + x * channels, from + column * channels, (size_t)(some * channels));
            x += some - 1;
        } else
            for (int64_t c = 0; c < channels; c++)
                line[x * channels + c] = column < 0 ? (uint8_t)(s->fill >> 8 * c) : from[column * channels + c];
    }
    return line;
}

/* Roughly the same pixels in the image itself, for prefetching: as many bytes, none of them after its last row. If it
   is too small, `other`. */
static const uint8_t *coming_line(const Source *s, int64_t y, int64_t left, int64_t count, const uint8_t *other) {
    int32_t row = fold((int32_t)y, s->rows, s->border);
    int64_t at = MAX(row, 0) * (int64_t)s->step + MAX(left, 0) * s->channels, last = s->end - count * s->channels;
    return last < 0 ? other : s->pixels + MIN(at, last);
}

#if defined(__AVX2__)
/* Halve four pixels of two rows to two pixels, in the lower six words. */
static inline __m128i halve_four(const uint8_t *one, const uint8_t *two) {
    const __m128i beside = _mm_setr_epi8(0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11, -1, -1, -1, -1);
    const __m128i ones = _mm_set1_epi8(1);
    __m128i a = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)one), beside);
    __m128i b = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)two), beside);
    a = _mm_add_epi16(_mm_maddubs_epi16(a, ones), _mm_maddubs_epi16(b, ones));
    return _mm_srli_epi16(_mm_add_epi16(a, _mm_set1_epi16(2)), 2);
}
#endif

/* Reduce k rows of `count` * k pixels to a row of `count`. Up to 16 bytes after it may change. */
static inline void reduce_row(const uint8_t *const lines[8], const uint8_t *const coming[8], int64_t count, int k,
                              int channels, uint16_t *sums, uint8_t *to) {
    int64_t x = 0;
#if defined(__AVX2__)
    if (k == 2 && channels == 3)
        for (; x + 6 <= count; x += 4) { /* the load reaches a third into the next pixel but one */
            PREFETCH(coming[0] + 6 * x, 2), PREFETCH(coming[1] + 6 * x, 2);
            __m128i one = halve_four(lines[0] + 6 * x, lines[1] + 6 * x);
            __m128i two = halve_four(lines[0] + 6 * x + 12, lines[1] + 6 * x + 12);
            const __m128i close = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, -1, -1, -1, -1);
            _mm_storeu_si128((__m128i *)(to + 3 * x), _mm_shuffle_epi8(_mm_packus_epi16(one, two), close));
        }
#endif
    int64_t first = x * k * channels, last = count * k * channels;
    for (int row = 0; row < k; row++)
        prefetch_bytes(coming[row], first, last);
    for (int64_t i = first; i < last; i++)
        sums[i] = lines[0][i];
    for (int row = 1; row < k; row++)
        for (int64_t i = first; i < last; i++)
            sums[i] = (uint16_t)(sums[i] + lines[row][i]);
    int bits = k == 2 ? 2 : k == 4 ? 4 : 6;
    for (; x < count; x++)
        for (int c = 0; c < channels; c++) {
            const uint16_t *from = sums + x * k * channels + c;
            uint32_t sum = 1u << (bits - 1);
            for (int i = 0; i < k; i++)
                sum += from[i * channels];
            to[x * channels + c] = (uint8_t)(sum >> bits);
        }
}

/* The scratch that `reduce` needs, in bytes. */
static int64_t reduced_room(const Source *s, const Part *p, int64_t k) {
    return p->rows * p->step + 2 * SLACK + (k + 2) * (p->columns * k * s->channels + SLACK);
}

/* Reduce the part of an image that a quad needs; the rest of the result is not written. */
static Source reduce(const Source *s, const Quad *q, const Part *p, int64_t k, uint8_t *scratch) {
    Source result = {scratch, (int32_t)p->rows, (int32_t)p->columns, (int32_t)p->step, 0, s->channels, s->border, s->fill};
    result.end = (int32_t)(p->rows * p->step);
    int64_t wide = p->columns * k * s->channels + SLACK;
    uint8_t *workspace = scratch + (p->rows * p->step + 2 * SLACK - 1) / SLACK * SLACK;
    uint16_t *sums = (uint16_t *)(void *)workspace;
    workspace += 2 * wide;
    for (int64_t y = 0; y < p->rows; y++) {
        double low, high, at = (double)(y + p->top);
        int64_t left = 0, right = p->columns;
        if (!p->cut) {
            if (!span(q, at - MARGIN, at + MARGIN, &low, &high))
                continue;
            left = MAX((int64_t)floor(low) - MARGIN - p->left, 0);
            right = MIN((int64_t)floor(high) + MARGIN + 2 - p->left, p->columns);
        }
        const uint8_t *lines[8], *coming[8];
        for (int64_t i = 0; i < k; i++) {
            int64_t at = p->y + (y + p->top) * k + i, first = p->x + (left + p->left) * k, count = (right - left) * k;
            lines[i] = line_of(s, at, first, count, workspace + i * wide);
            coming[i] = coming_line(s, at + k, first, count, lines[i]);
        }
        uint8_t *to = scratch + y * p->step + left * s->channels;
        reduce_row(lines, coming, right - left, (int)k, s->channels, sums, to);
    }
    return result;
}
