/* Inverse mapping: each pixel of the result is interpolated bilinearly at a place of the image, given by a 3 x 3
   matrix (warpAffine, warpPerspective) or by two maps (remap).

   Bits: those of OpenCV 5 with AVX2: places and weights in float32 with fused multiply-add, in the order of its
   vectors; after the last whole vector of a row sums have another order (`in_body`). Without FMA the kernel refuses.
   compiler/kernels/opencv_bits.py probes whether the installed OpenCV has these bits, and leaves to it what this
   kernel refuses.
   Law: tests/laws/test_kernels.py (row `warp`), tests/laws/test_native_plan.py. */

#include "lanes.h"
#include "sampled.h"

enum { FAR = 1 << 22 }; /* px; places beyond are refused */

/* The source places of a result: by a matrix or two maps. */
typedef struct {
    int32_t kind;
    float m[9];
    const float *map_x, *map_y;
    int64_t x_down, x_across, y_down, y_across;
} Places;

static inline Floats load(const float *map, int64_t across, int64_t count) {
    Floats result = {0};
    if (across == 1 && count == LANES)
        memcpy(&result, map, sizeof result);
    else if (across == 0)
        result += map[0];
    else
        for (int64_t i = 0; i < LANES; i++)
            result[i] = map[MIN(i, count - 1) * across];
    return result;
}

/* The places of LANES pixels of row y from column x on; of maps at most `count` are read.

   OpenCV adds in another order after the last column that fills its vectors. */
static inline __attribute__((always_inline)) void find(const Places *p, int64_t x, int64_t y, int64_t count, int in_body,
                                                       Floats *u, Floats *v) {
    if (p->kind == WARP_MAPS) {
        *u = load(p->map_x + y * p->x_down + x * p->x_across, p->x_across, count);
        *v = load(p->map_y + y * p->y_down + x * p->y_across, p->y_across, count);
        return;
    }
    const float *m = p->m;
    float fy = (float)y;
    Floats fx, none = {0}, w = none;
    for (int i = 0; i < LANES; i++)
        fx[i] = (float)i;
    fx += (float)x;
    if (in_body) {
        *u = fuse(none + m[0], fx, none + (fy * m[1] + m[2]));
        *v = fuse(none + m[3], fx, none + (fy * m[4] + m[5]));
        w = fuse(none + m[6], fx, none + (fy * m[7] + m[8]));
    } else {
        *u = fuse(none + m[0], fx, none + fy * m[1]) + m[2];
        *v = fuse(none + m[3], fx, none + fy * m[4]) + m[5];
        w = fuse(none + m[6], fx, none + fy * m[7]) + m[8];
    }
    if (p->kind == WARP_PERSPECTIVE) {
        *u /= w;
        *v /= w;
    }
}

static inline uint32_t pixel(const Source *s, int32_t x, int32_t y, int channels) {
    x = fold(x, s->columns, s->border);
    y = fold(y, s->rows, s->border);
    if (x < 0 || y < 0)
        return s->fill;
    uint32_t found = 0;
    const uint8_t *at = s->pixels + (int64_t)y * s->step + (int64_t)x * channels;
    for (int c = 0; c < channels; c++)
        found |= (uint32_t)at[c] << 8 * c;
    return found;
}

/* Read the four corners of each place one by one, as words with a channel in each byte. */
static void corners_one_by_one(const Source *s, Ints x, Ints y, int64_t count, int channels, Words corners[4]) {
    for (int64_t i = 0; i < LANES; i++) {
        int64_t at = MIN(i, count - 1);
        for (int k = 0; k < 4; k++)
            corners[k][i] = pixel(s, x[at] + k % 2, y[at] + k / 2, channels);
    }
}

/* `fold` for coordinates that are no further outside than the image is wide. */
static inline Ints fold_near(Ints at, int32_t n, int32_t border) {
    const Fold f = fold_of(n, border);
    Ints before = at < 0, behind = at >= n, low = at * f.times + f.before, high = at * f.times + f.behind;
    return (at & ~(before | behind)) | (low & before) | (high & behind);
}

/* Read the pixels at coordinates inside the image as words; near the end, the last word of the image is loaded and
   shifted. */
static inline Words words_at(const Source *s, Ints x, Ints y, int channels) {
    Ints at = y * s->step + x * channels, last = (at & 0) + (s->end - 4), late = at > last;
    return gather(s->pixels, (at & ~late) | (last & late)) >> (Words)(((at - last) & late) * 8);
}

/* `corners_one_by_one` for places near the image; whether any place sees more than a constant border. */
static inline int corners_near(const Source *s, Ints x, Ints y, int channels, Words corners[4]) {
    Ints here[4], xs[2], ys[2], in_x[2], in_y[2];
    for (int k = 0; k < 2; k++) {
        in_x[k] = (Ints)((Words)(x + k) < (uint32_t)s->columns);
        in_y[k] = (Ints)((Words)(y + k) < (uint32_t)s->rows);
        xs[k] = fold_near(x + k, s->columns, s->border);
        ys[k] = fold_near(y + k, s->rows, s->border);
    }
    if (s->border == BORDER_CONSTANT) {
        if (!any((in_x[0] | in_x[1]) & (in_y[0] | in_y[1])))
            return 0;
        for (int k = 0; k < 4; k++)
            here[k] = in_x[k % 2] & in_y[k / 2];
    }
    for (int k = 0; k < 4; k++) {
        corners[k] = words_at(s, xs[k % 2], ys[k / 2], channels);
        if (s->border == BORDER_CONSTANT)
            corners[k] = (corners[k] & (Words)here[k]) | (s->fill & ~(Words)here[k]);
    }
    return 1;
}

static inline Floats channel(Words words, int c) {
    return __builtin_convertvector((Ints)(words >> 8 * c & 255), Floats);
}

static inline Floats between(Floats a, Floats b, Floats t) { return fuse(t, b - a, a); }

enum { SPAN = 256 }; /* px of a row whose places are computed before any pixel is read */

/* The offsets of the upper left corners, the fractions of places, and whether each block is whole and inside the
   image. */
typedef struct {
    _Alignas(64) int32_t at[SPAN];
    Floats across[SPAN / LANES], down[SPAN / LANES];
    int inside[SPAN / LANES];
} Span;

/* The length of the block at column x, in which all places are computed in the same way. */
static inline int64_t block_at(int64_t x, int64_t right, int64_t body) {
    return MIN(LANES, MIN(x < body ? body : right, right) - x);
}

/* Compute the places of up to SPAN pixels; returns the column after the last. */
static inline int64_t find_span(const Source *s, const Places *places, int64_t y, int64_t x, int64_t right, int64_t body,
                                int channels, Span *span) {
    const Places own = *places, *p = &own; /* a copy, so that compilers know that stores into the span do not change it */
    for (int64_t k = 0, count; k < SPAN / LANES && x < right; k++, x += count) {
        Floats u, v;
        count = block_at(x, right, body);
        find(p, x, y, count, x < body, &u, &v);
        Floats across = floors(u), down = floors(v);
        Ints ix = __builtin_convertvector(across, Ints), iy = __builtin_convertvector(down, Ints);
        Ints at = (Ints)((Words)iy * (uint32_t)s->step + (Words)ix * (uint32_t)channels); /* may wrap if it is outside */
        Ints outside = (Ints)((Words)ix >= (uint32_t)(s->columns - 1)) | (Ints)((Words)iy >= (uint32_t)(s->rows - 1));
        span->inside[k] = count == LANES && !any(outside | (at > s->end - s->step - 8));
        span->across[k] = u - across, span->down[k] = v - down;
        memcpy(span->at + k * LANES, &at, sizeof at);
    }
    return x;
}

/* Interpolate a block between its corners. */
static inline Words interpolate(const Words corners[4], Floats across, Floats down, int channels) {
    Words result = {0};
    for (int c = 0; c < channels; c++) {
        Floats above = between(channel(corners[0], c), channel(corners[1], c), across);
        Floats below = between(channel(corners[2], c), channel(corners[3], c), across);
        result |= (Words)nearest(between(above, below, down)) << 8 * c;
    }
    return result;
}

/* Warp a block that is incomplete, or partly outside the image. */
static __attribute__((noinline)) void warp_edge(const Source *s, const Places *p, int64_t x, int64_t y, int64_t count,
                                                int in_body, int channels, uint8_t *to) {
    Floats u, v;
    Words corners[4];
    find(p, x, y, count, in_body, &u, &v);
    Floats across = floors(u), down = floors(v);
    Ints ix = __builtin_convertvector(across, Ints), iy = __builtin_convertvector(down, Ints);
    Ints far = (ix < 1 - s->columns) | (ix > 2 * s->columns - 3) | (iy < 1 - s->rows) | (iy > 2 * s->rows - 3);
    int simple = s->border == BORDER_CONSTANT || s->border == BORDER_REPLICATE;
    if (s->end < 8 || (!simple && any(far)))
        corners_one_by_one(s, ix, iy, count, channels, corners);
    else if (!corners_near(s, ix, iy, channels, corners)) {
        store_pixels((Words){0} + s->fill, count, channels, to);
        return;
    }
    store_pixels(interpolate(corners, u - across, v - down, channels), count, channels, to);
}

static inline void warp_row(const Source *s, const Places *p, int64_t y, int64_t left, int64_t right, int64_t body,
                            int channels, uint8_t *to) {
    Span span;
    for (int64_t x = left, end; x < right; x = end) {
        end = find_span(s, p, y, x, right, body, channels, &span);
        for (int64_t k = 0, count; x < end; k++, x += count, to += count * channels) {
            Words corners[4];
            count = LANES;
            if (!span.inside[k]) {
                count = block_at(x, right, body);
                warp_edge(s, p, x, y, count, x < body, channels, to);
                continue;
            }
            pairs_at(s->pixels, span.at + k * LANES, channels, &corners[0], &corners[1]);
            pairs_at(s->pixels + s->step, span.at + k * LANES, channels, &corners[2], &corners[3]);
            store_pixels(interpolate(corners, span.across[k], span.down[k], channels), LANES, channels, to);
        }
    }
}

/* The same with the nearest pixel of each place; pixels of 1 to 4 bytes. */
static inline void pick_row(const Source *s, const Places *p, int64_t y, int64_t left, int64_t right, int64_t body,
                            int bytes, uint8_t *to) {
    for (int64_t x = left, count; x < right; x += count, to += count * bytes) {
        Floats u, v;
        Words result;
        count = MIN(LANES, MIN(x < body ? body : right, right) - x);
        find(p, x, y, count, x < body, &u, &v);
        Ints ix = nearest(u), iy = nearest(v);
        Ints outside = (Ints)((Words)ix >= (uint32_t)s->columns) | (Ints)((Words)iy >= (uint32_t)s->rows);
        Ints far = (ix < 1 - s->columns) | (ix > 2 * s->columns - 2) | (iy < 1 - s->rows) | (iy > 2 * s->rows - 2);
        int simple = s->border == BORDER_CONSTANT || s->border == BORDER_REPLICATE;
        if (s->end < 4 || (!simple && any(far)))
            for (int64_t i = 0; i < LANES; i++)
                result[i] = pixel(s, ix[MIN(i, count - 1)], iy[MIN(i, count - 1)], bytes);
        else if (!any(outside))
            result = words_at(s, ix, iy, bytes);
        else {
            result = words_at(s, fold_near(ix, s->columns, s->border), fold_near(iy, s->rows, s->border), bytes);
            if (s->border == BORDER_CONSTANT)
                result = (result & ~(Words)outside) | (s->fill & (Words)outside);
        }
        store_pixels(result, count, bytes, to);
    }
}

/* Whether a map has a place that is NaN, or too far away. */
static int map_strays(const float *map, int64_t rows, int64_t columns, int64_t down, int64_t across) {
    int found = 0;
    for (int64_t y = 0; y < (down ? rows : 1) && !found; y++)
        for (int64_t x = 0; x < (across ? columns : 1); x++)
            found |= !(fabsf(map[y * down + x * across]) < FAR);
    return found;
}

/* The same for a matrix: the places of the corners are the furthest, unless a horizon is between them. `box`: the
   bounds of all places. */
static int matrix_strays(const Places *p, int64_t top, int64_t left, int64_t bottom, int64_t right, double box[4]) {
    for (int k = 0; k < 4; k++) {
        double x = (double)(k % 2 ? right + LANES : left), y = (double)(k / 2 ? bottom : top);
        double w = p->kind == WARP_AFFINE ? 1 : p->m[6] * x + p->m[7] * y + p->m[8];
        double u = (p->m[0] * x + p->m[1] * y + p->m[2]) / w, v = (p->m[3] * x + p->m[4] * y + p->m[5]) / w;
        if (!(w > 1e-3 && w < 1e6 && fabs(u) < FAR && fabs(v) < FAR))
            return 1;
        box[0] = k ? MIN(box[0], u) : u, box[1] = k ? MAX(box[1], u) : u;
        box[2] = k ? MIN(box[2], v) : v, box[3] = k ? MAX(box[3], v) : v;
    }
    return 0;
}

/* Read the needed part of an image into the cache. */
static void touch_box(const Source *s, const double box[4], int64_t channels, int64_t pixels) {
    int64_t left = (int64_t)MAX(box[0], 0), right = (int64_t)MIN(box[1] + 2, s->columns);
    int64_t top = (int64_t)MAX(box[2], 0), bottom = (int64_t)MIN(box[3] + 2, s->rows);
    int64_t count = MAX(right - left, 0) * MAX(bottom - top, 0);
    if (count * channels > NEAR || count > 16 * pixels)
        return;
    for (int64_t y = top; y < bottom; y++)
        touch_row(s->pixels + y * s->step, left * channels, right * channels);
}

/* Warp an image.

   source: rows x columns pixels of 1 to 4 bytes; if `linear`, uint8 channels, and not 2 of them; step: bytes from row
           to row
   linear: bilinear; otherwise the nearest pixel
   kind:   WARP_AFFINE and WARP_PERSPECTIVE: matrix, 3 x 3, from result to source; WARP_MAPS: map_x and map_y, with
           strides in floats
   border: as OpenCV numbers it; fill: of a constant one, a byte for each channel
   body:   the column from which on OpenCV computes places one by one
   target: rows top to bottom and columns left to right of the result, x channels; step_to: bytes from row to row */
KERNEL(warp)(const uint8_t *source, int64_t rows, int64_t columns, int64_t step, int32_t channels, int32_t linear,
             int32_t kind, const double *matrix, const float *map_x, int64_t x_down, int64_t x_across, const float *map_y,
             int64_t y_down, int64_t y_across, int32_t border, uint32_t fill, int64_t body, uint8_t *target,
             int64_t top, int64_t left, int64_t bottom, int64_t right, int64_t step_to) {
    if (!FUSES || rows < 1 || columns < 1 || rows > FAR || columns > FAR || step < columns * channels ||
        rows * step >= INT32_MAX / 4 || border < BORDER_CONSTANT || border > BORDER_REFLECT_101 || bottom > FAR ||
        right > FAR || top < 0 || left < 0 || channels < 1 || channels > 4 || (linear && channels == 2))
        return REFUSED;
    Source s = {source, (int32_t)rows, (int32_t)columns, (int32_t)step, 0, channels, border, fill};
    s.end = (int32_t)((rows - 1) * step + columns * channels);
    double box[4] = {0, (double)columns, 0, (double)rows};
    Places p = {kind, {0}, map_x, map_y, x_down, x_across, y_down, y_across};
    if (kind != WARP_MAPS)
        for (int i = 0; i < 9; i++)
            p.m[i] = (float)matrix[i];
    if (kind == WARP_MAPS ? map_strays(map_x, bottom, right, x_down, x_across) || map_strays(map_y, bottom, right, y_down, y_across)
                     : matrix_strays(&p, top, left, bottom, right, box))
        return REFUSED;
    touch_box(&s, box, channels, (bottom - top) * (right - left));
    for (int64_t y = top; y < bottom; y++) {
        uint8_t *to = target + (y - top) * step_to;
        if (linear)
            CALL_WITH(channels, warp_row(&s, &p, y, left, right, body, N, to))
        else
            CALL_WITH(channels, pick_row(&s, &p, y, left, right, body, N, to))
    }
    return DONE;
}
