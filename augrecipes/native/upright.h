/* Scales, shifts and flips without rotation as a separable bilinear filter: two rows of the image are mixed in memory
   order first, and only then interpolated across. The sums are those of between.h, in another order. */

#pragma once

#include "between.h"

enum { ABREAST = 8 }; /* pixels whose weights are in one order */

/* A row of the image as far as it is read, `wide` pixels from column `left` on: those from `begin` to `end` are
   inside the image; the others are copied from the columns `copied`, or filled. */
typedef struct {
    int64_t left, wide, begin, end;
    int16_t *line;     /* the mixed levels times 256, less 2^15 */
    int32_t *copied;
    int32_t *at;       /* for each pixel of the result its place in the line, in elements */
    int16_t *weights;  /* 128 - across and across, four times for each, in the order of `lane` */
    uint8_t *beyond;   /* a row of the fill */
    int32_t above, below, down, known; /* the state of the line */
} Upright;

static int is_upright(const double *m) { return m[1] == 0 && m[3] == 0 && m[6] == 0 && m[7] == 0 && m[8] == 1; }

/* The index of the weights of pixel x: pixels alternate with those four further on. */
static inline int64_t lane(int64_t x) { return (x & ~(int64_t)(ABREAST - 1)) + 2 * (x & 3) + (x >> 2 & 1); }

static int64_t upright_wide(const Quad *q) { return (int64_t)(q->right - q->left) + 2 * BLOCK; }

/* The scratch that `begin_upright` needs, in bytes, for an image of `columns`. */
static int64_t upright_room(int64_t channels, int64_t columns, const Quad *q, int64_t width) {
    return upright_wide(q) * (2 * channels + 4) + (width + BLOCK) * 20 + columns * channels + 8 * SLACK;
}

static uint8_t *part_of_room(uint8_t **workspace, int64_t bytes) {
    uint8_t *part = *workspace;
    *workspace += (bytes + SLACK - 1) / SLACK * SLACK;
    return part;
}

static void begin_upright(Upright *u, const Source *s, const Quad *q, const Path *path, int64_t width, uint8_t *workspace) {
    int64_t channels = s->channels;
    int32_t xs[BLOCK], ys[BLOCK];
    u->left = (int64_t)floor(q->left) - 2, u->wide = upright_wide(q), u->known = 0;
    u->begin = MIN(MAX(-u->left, 0), u->wide), u->end = MAX(MIN(s->columns - u->left, u->wide), u->begin);
    u->line = (int16_t *)(void *)part_of_room(&workspace, u->wide * channels * 2 + SLACK);
    u->copied = (int32_t *)(void *)part_of_room(&workspace, u->wide * 4);
    u->at = (int32_t *)(void *)part_of_room(&workspace, (width + BLOCK) * 4);
    u->weights = (int16_t *)(void *)part_of_room(&workspace, (width + BLOCK) * 16);
    u->beyond = workspace;
    for (int64_t x = 0; x < u->wide; x++) {
        u->copied[x] = fold((int32_t)(x + u->left), s->columns, s->border);
        for (int64_t c = 0; c < channels; c++)
            u->line[x * channels + c] = (int16_t)((int32_t)((s->fill >> 8 * c & 255) << 8) - 32768);
    }
    for (int64_t x = 0; x < s->columns * channels; x++)
        u->beyond[x] = (uint8_t)(s->fill >> 8 * (x % channels));
    for (int64_t x = 0; x < width; x += BLOCK) {
        find_bent_places(path, x, 0, width, xs, ys);
        for (int64_t i = 0; i < BLOCK; i++) {
            int32_t at = xs[i];
            int16_t across = (int16_t)(at >> 9 & 127), *weights = u->weights + 8 * lane(x + i);
            /* places after the last column of the result may be anywhere */
            int64_t place = MIN(MAX((at >> 16) - u->left, 0), u->wide - 2);
            u->at[x + i] = (int32_t)(place * channels);
            for (int k = 0; k < 4; k++)
                weights[2 * k] = (int16_t)(128 - across), weights[2 * k + 1] = across;
        }
    }
}

static inline void mix_rows(const uint8_t *restrict above, const uint8_t *restrict below, int32_t down, int64_t count,
                            int16_t *restrict to) {
    uint16_t one = (uint16_t)(256 - down), two = (uint16_t)down;
    for (int64_t i = 0; i < count; i++)
        to[i] = (int16_t)((uint16_t)(above[i] * one + below[i] * two) ^ 0x8000);
}

#if defined(__AVX2__)
static inline __m256i two_across(const int16_t *line, int32_t one, int32_t two, const int16_t *weights) {
    const __m256i beside = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1));
    const __m256i half = _mm256_set1_epi32((1 << 14) + (1 << 22));
    __m256i both = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(line + one)));
    both = _mm256_inserti128_si256(both, _mm_loadu_si128((const __m128i *)(const void *)(line + two)), 1);
    both = _mm256_madd_epi16(_mm256_shuffle_epi8(both, beside),
                             _mm256_loadu_si256((const __m256i *)(const void *)weights));
    return _mm256_srai_epi32(_mm256_add_epi32(both, half), 15);
}

static inline void across_three(const Upright *u, int64_t x, uint8_t *to, int64_t stride) {
    const int32_t *at = u->at + x;
    const int16_t *weights = u->weights + 8 * x;
    __m256i one = _mm256_packs_epi32(two_across(u->line, at[0], at[4], weights), two_across(u->line, at[1], at[5], weights + 16));
    __m256i two = _mm256_packs_epi32(two_across(u->line, at[2], at[6], weights + 32), two_across(u->line, at[3], at[7], weights + 48));
    store_eight(_mm256_packus_epi16(one, two), to, stride);
}
#endif

/* Make a row of the result, at height `v`, in planes that are `stride` bytes apart. */
static void make_upright(Upright *u, const Source *s, int32_t v, int64_t width, uint8_t *to, int64_t stride) {
    int32_t down = v >> 8 & 255, above = fold(v >> 16, s->rows, s->border);
    int32_t below = fold((v >> 16) + 1, s->rows, s->border), channels = s->channels;
    if (above < 0 && below < 0) {
        for (int32_t c = 0; c < channels; c++)
            memset(to + c * stride, (int)(s->fill >> 8 * c & 255), (size_t)width);
        return;
    }
    if (!u->known || above != u->above || below != u->below || down != u->down) {
        int64_t first = (u->left + u->begin) * channels, count = (u->end - u->begin) * channels;
        const uint8_t *rows[2] = {u->beyond, u->beyond};
        int16_t *line = u->line;
        if (above >= 0)
            rows[0] = s->pixels + (int64_t)above * s->step;
        if (below >= 0)
            rows[1] = s->pixels + (int64_t)below * s->step;
        if (count > 0)
            mix_rows(rows[0] + first, rows[1] + first, down, count, line + u->begin * channels);
        u->above = above, u->below = below, u->down = down, u->known = 1;
        for (int64_t x = 0; x < u->wide && s->border != BORDER_CONSTANT; x++) {
            if (x == u->begin && count > 0)
                x = u->end;
            if (x < u->wide) {
                int64_t column = u->copied[x] * channels;
                for (int32_t c = 0; c < channels; c++)
                    line[x * channels + c] = (int16_t)((uint16_t)(rows[0][column + c] * (256 - down) + rows[1][column + c] * down) ^ 0x8000);
            }
        }
    }
    int64_t x = 0;
#if defined(__AVX2__)
    for (; x < width && channels == COLOURS; x += ABREAST)
        across_three(u, x, to + x, stride);
#endif
    for (; x < width; x++) {
        const int16_t *from = u->line + u->at[x], *weights = u->weights + 8 * lane(x);
        for (int32_t c = 0; c < channels; c++) {
            int32_t sum = from[c] * weights[0] + from[channels + c] * weights[1];
            to[c * stride + x] = (uint8_t)((sum + (1 << 14) + (1 << 22)) >> 15);
        }
    }
}
