/* Jobs, the last pass of `fast`: an image is reduced where it shrinks (a box filter by 2, 4 or 8), warped by inverse
   mapping, its colours are changed, and it is written in the output's format, directly into its place in a batch;
   block by block, so that pixels stay in the first cache from one step to the next.

   Pixels are interpolated bilinearly in integers (between.h), places are fixed-point numbers (places.h), consecutive
   tables and matrices are merged (colours.h).

   Bits: integers, the same on every instruction set, and those of numpy in tests/laws/job_in_numpy.py, which defines
   them.
   Law: tests/laws/test_kernels.py (row `fused`), tests/laws/test_jobs.py. */

#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("prefer-vector-width=512") /* 20 % faster hue */
#endif

#include "between.h"
#include "colours.h"
#include "floats.h"
#include "reduce.h"
#include "upright.h"

enum { TYPES = 3, MOST_ROOM = 1 << 29, WIDE = MAX(BLOCK, LANES) };

/* Round to float16, half to even. */
static uint16_t as_half(float x) {
    union {
        float value;
        uint32_t bits;
    } in = {x}, magic = {0};
    uint32_t sign = in.bits >> 16 & 0x8000, rest = in.bits & 0x7fffffff;
    if (rest > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (rest >= 0x47800000)
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) { /* subnormal: adding 0.5 shifts out the excess bits */
        in.bits = rest, magic.value = 0.5f;
        in.value += magic.value;
        return (uint16_t)(sign | (in.bits - magic.bits));
    }
    rest += 0xc8000fff + (rest >> 13 & 1);
    return (uint16_t)(sign | rest >> 13);
}

/* Conversion of levels to the output: tables of float16 for each channel, and scales of interleaved channels. */
typedef struct {
    uint16_t halves[COLOURS][256];
    float scale[COLOURS * ACROSS], shift[COLOURS * ACROSS];
    int beside; /* whether the channels of a pixel are contiguous, in either order */
    int type, streams; /* streams: floats are written by streaming stores */
} Numbers;

/* Write one channel of a row in the format of the output. */
static inline void write_row(const uint8_t *restrict levels, int64_t count, const Job *job, int c,
                             const Numbers *n, void *restrict to) {
    const uint16_t *halves = n->halves[c];
    float scale = (float)job->scale[c], shift = (float)job->shift[c];
    int64_t across = job->across;
    float *floats = to;
    uint16_t *words = to;
    uint8_t *bytes = to;
    if (n->type == FLOAT32 && across == 1)
        scale_levels(levels, count, scale, shift, floats, n->streams);
    else if (n->type == FLOAT32)
        for (int64_t x = 0; x < count; x++)
            floats[x * across] = (float)levels[x] * scale + shift;
    else if (n->type == FLOAT16)
        for (int64_t x = 0; x < count; x++)
            words[x * across] = halves[levels[x]];
    else if (across == 1)
        memcpy(bytes, levels, (size_t)count);
    else
        for (int64_t x = 0; x < count; x++)
            bytes[x * across] = levels[x];
}

static void begin_numbers(const Job *job, Numbers *n) {
    n->type = job->type == FLOAT32_FAR ? FLOAT32 : (int)job->type;
    n->streams = job->type == FLOAT32_FAR;
    n->beside = job->channels == COLOURS && job->across == COLOURS && (job->apart == 1 || job->apart == -1) &&
                n->type != FLOAT16;
    for (int c = 0; c < job->channels && n->type == FLOAT16; c++)
        for (int i = 0; i < 256; i++)
            n->halves[c][i] = as_half((float)i * (float)job->scale[c] + (float)job->shift[c]);
    for (int i = 0; i < COLOURS * ACROSS && n->beside; i++) {
        int c = job->apart == 1 ? i % COLOURS : COLOURS - 1 - i % COLOURS;
        n->scale[i] = (float)job->scale[c], n->shift[i] = (float)job->shift[c];
    }
}

/* Write pixels with contiguous channels. */
static void write_beside(const Job *job, const Numbers *n, uint8_t (*restrict planes)[ACROSS], int64_t count, int64_t at) {
    uint8_t turned[COLOURS][ACROSS], beside[COLOURS * ACROSS];
    float *floats = (float *)job->target + at;
    for (int c = 0; c < COLOURS && job->apart < 0; c++)
        memcpy(turned[c], planes[COLOURS - 1 - c], (size_t)count);
    if (n->type == UINT8) {
        put_together(job->apart < 0 ? turned : planes, count, (uint8_t *)job->target + at);
        return;
    }
    put_together(job->apart < 0 ? turned : planes, count, beside);
    for (int64_t i = 0; i < COLOURS * count; i++)
        floats[i] = (float)beside[i] * n->scale[i] + n->shift[i];
}

/* Write the rows of an image, from row `top` of the result on. */
static void write(const Job *job, const Numbers *n, const Image *p, int64_t top) {
    const int64_t sizes[TYPES] = {1, 4, 2};
    int64_t size = sizes[n->type];
    uint8_t planes[COLOURS][ACROSS];
    int64_t some = p->pending || n->beside ? ACROSS : job->width;
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < job->width; x += some) {
            int64_t count = MIN(some, job->width - x), at = (top + y) * job->down + x * job->across;
            if (p->pending || n->beside)
                take_levels(p, y, x, count, planes);
            if (n->beside) {
                write_beside(job, n, planes, count, at + MIN(2 * job->apart, 0));
                continue;
            }
            for (int c = 0; c < job->channels; c++) {
                const uint8_t *from = p->pending ? planes[c] : p->levels + (y * job->channels + c) * p->stride + x;
                uint8_t *to = (uint8_t *)job->target + (at + c * job->apart) * size;
                write_row(from, count, job, c, n, to);
            }
        }
}

/* Whether every operation works pixel by pixel: then rows are written one by one, while they are in the cache. */
static int goes_by_rows(const Job *job) {
    int pending = 0;
    for (int64_t i = 0; i < job->count; i++) {
        const Operation *o = &job->operations[i];
        if (o->kind == COLOUR_CONTRAST || (o->kind == COLOUR_HUE && o->numbers[1] != 0) ||
            (o->kind == COLOUR_MATRIX && pending))
            return 0;
        pending = o->kind == COLOUR_MATRIX;
    }
    return 1;
}

static int takes(const Job *j) {
    int fits = (j->channels == 1 || j->channels == 3) && j->rows >= 1 && j->columns >= 1 && j->rows <= INT16_MAX &&
               j->columns <= INT16_MAX && j->step >= j->columns * j->channels && j->rows * j->step < INT32_MAX / 2 &&
               j->height >= 1 && j->width >= 1 && j->height <= INT16_MAX && j->width <= INT16_MAX &&
               j->border >= BORDER_CONSTANT && j->border <= BORDER_REFLECT_101 &&
               ((j->type >= UINT8 && j->type <= FLOAT16) || j->type == FLOAT32_FAR) &&
               (j->reduction == 1 || j->reduction == 2 || j->reduction == 4 || j->reduction == 8) && j->count >= 0 &&
               j->left >= 0 && j->left <= MOST_BEFORE && j->top >= 0 && j->top <= MOST_BEFORE &&
               ((j->left == 0 && j->top == 0) || (j->reduction == 1 && j->border == BORDER_CONSTANT)) &&
               j->count <= MOST_OPERATIONS && (j->count == 0 || j->channels == COLOURS);
    if (j->across_grid || j->bends)
        fits &= (j->bends || j->down_grid) && j->reduction == 1 && !j->left && !j->top &&
                (1 + fabs(j->lens)) * (double)MAX(j->rows, j->columns) < FURTHEST;
    for (int64_t i = 0; fits && i < j->count; i++) {
        const Operation *o = &j->operations[i];
        fits = o->kind >= COLOUR_MATRIX && o->kind <= COLOUR_TABLES && (o->kind != COLOUR_TABLES || o->table);
        for (int k = 0; k < 12 && o->kind != COLOUR_TABLES; k++)
            fits &= fabs(o->numbers[k]) < LARGEST;
        if (o->kind == COLOUR_HUE || o->kind == COLOUR_HSV)
            fits &= o->numbers[0] >= 0 && o->numbers[0] < 180 && fabs(o->numbers[1]) < 256 && fabs(o->numbers[2]) < 256;
    }
    return fits;
}

/* Whether the job is the identity: sampling would return the image unchanged. */
static int is_raw_output(const Job *j) {
    static const double same[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    int is = j->channels == COLOURS && j->reduction == 1 && !j->left && !j->top && j->height <= j->rows &&
             j->width <= j->columns && !j->across_grid && !j->bends;
    for (int i = 0; i < 9; i++)
        is &= j->matrix[i] == same[i];
    return is;
}

/* The rows and columns that a grid reads; false if one is too far away. */
static int find_grid(const Job *job, Quad *q) {
    for (int k = 0; k < 2; k++) {
        const int32_t *at = k ? job->down_grid : job->across_grid;
        int32_t low = at[0], high = at[0];
        for (int64_t i = 0, size = k ? job->rows : job->columns; i < size; i++)
            low = MIN(low, at[i]), high = MAX(high, at[i]);
        *(k ? &q->top : &q->left) = low / 65536.0, *(k ? &q->bottom : &q->right) = high / 65536.0;
    }
    return MIN(q->left, q->top) > -FURTHEST && MAX(q->right, q->bottom) < FURTHEST;
}

/* Split a row into planes that are `stride` bytes apart. */
static void take_row(const uint8_t *row, int64_t width, uint8_t *to, int64_t stride) {
    uint8_t planes[COLOURS][ACROSS];
    for (int64_t x = 0; x < width; x += ACROSS) {
        int64_t some = MIN(ACROSS, width - x);
        take_apart(row + COLOURS * x, some, planes);
        for (int64_t c = 0; c < COLOURS; c++)
            memcpy(to + c * stride + x, planes[c], (size_t)some);
    }
}

/* Returns DONE, REFUSED, or the bytes of scratch that it needs, if it has fewer: then nothing has been written. */
KERNEL(fused)(const Job *job) {
    Quad quad;
    double m[9];
    if (!takes(job) || !find_quad(job->matrix, job->height, job->width, &quad))
        return REFUSED;
    memcpy(m, job->matrix, sizeof m);
    Source source = {job->source, (int32_t)job->rows, (int32_t)job->columns, (int32_t)job->step, 0,
                     (int32_t)job->channels, (int32_t)job->border, (uint32_t)job->fill};
    source.end = (int32_t)((job->rows - 1) * job->step + job->columns * job->channels);
    int64_t stride = (job->width + WIDE - 1) / WIDE * WIDE;
    int64_t rows = goes_by_rows(job) ? 1 : job->height, reduced = 0;
    Part part = {0};
    if (job->reduction > 1) {
        const double near = 1.0 / 512;
        if (quad.left >= -near && quad.top >= -near && quad.right <= (double)(job->columns - 1) + near &&
            quad.bottom <= (double)(job->rows - 1) + near)
            source.border = BORDER_REPLICATE; /* no pixel outside is shown, so none may be blended in */
        double k = (double)job->reduction;
        int64_t x = ((int64_t)floor(quad.left) - MARGIN) & (job->reduction - 1);
        int64_t y = ((int64_t)floor(quad.top) - MARGIN) & (job->reduction - 1);
        for (int i = 0; i < 6; i++)
            m[i] = m[i] / k + ((0.5 - (double)(i < 3 ? x : y)) / k - 0.5) * m[6 + i % 3];
        if (!find_quad(m, job->height, job->width, &quad))
            return REFUSED;
        part = part_of(&source, &quad, job->reduction, x, y);
        double all = (double)part.rows * (double)part.columns;
        if (all > 4 * ((double)job->rows * (double)job->columns / (k * k) + 65536) || all * 3 > MOST_ROOM)
            return REFUSED;
        reduced = (reduced_room(&source, &part, job->reduction) + SLACK) / SLACK * SLACK;
    }
    quad.left -= (double)job->left, quad.right -= (double)job->left;
    quad.top -= (double)job->top, quad.bottom -= (double)job->top;
    for (int k = 0; k < 4; k++)
        quad.x[k] -= (double)job->left, quad.y[k] -= (double)job->top;
    if (job->across_grid && !find_grid(job, &quad))
        return REFUSED;
    int as_it_is = is_raw_output(job), upright = !as_it_is && !job->bends && is_upright(m);
    int64_t needed = rows * job->channels * stride + reduced + 3 * SLACK;
    if (upright)
        needed += upright_room(job->channels, MAX(job->columns, part.columns), &quad, job->width);
    if (needed > MOST_ROOM)
        return REFUSED;
    if (job->workspace < needed)
        return (int32_t)needed;
    uint8_t *levels = (uint8_t *)(((uintptr_t)job->scratch + SLACK - 1) & ~(uintptr_t)(SLACK - 1));
    uint8_t *rest = levels + (rows * job->channels * stride + SLACK - 1) / SLACK * SLACK;
    if (job->reduction > 1) {
        source = reduce(&source, &quad, &part, job->reduction, rest);
        rest += reduced;
        for (int i = 0; i < 6; i++)
            m[i] -= (double)(i < 3 ? part.left : part.top) * m[6 + i % 3];
        find_quad(m, job->height, job->width, &quad);
    } else if (!upright && !as_it_is) {
        touch_quad(job->source, job->rows, job->columns, job->step, job->channels, &quad, job->height * job->width);
    }
    Path path;
    Upright lines = {0};
    begin_path(&path, job, m);
    begin_row(&path, 0);
    if (upright)
        begin_upright(&lines, &source, &quad, &path, job->width, rest);
    Numbers numbers;
    begin_numbers(job, &numbers);
    for (int64_t top = 0; top < job->height; top += rows) {
        Image image = {.levels = levels, .height = rows, .width = job->width, .stride = stride, .top = top};
        for (int64_t y = top; y < top + rows; y++) {
            _Alignas(64) int32_t u[SPAN * BLOCK], v[SPAN * BLOCK];
            uint8_t *to = levels + (y - top) * job->channels * stride;
            begin_row(&path, y);
            if (as_it_is)
                take_row(source.pixels + y * job->step, job->width, to, stride);
            else if (upright) {
                int32_t us[BLOCK], vs[BLOCK];
                find_bent_places(&path, 0, y, job->width, us, vs);
                make_upright(&lines, &source, vs[0], job->width, to, stride);
            } else
                for (int64_t x = 0, blocks; x < job->width; x += blocks * BLOCK) {
                    blocks = MIN(SPAN, (job->width - x + BLOCK - 1) / BLOCK);
                    for (int64_t k = 0; k < blocks; k++)
                        find_bent_places(&path, x + k * BLOCK, y, job->width, u + k * BLOCK, v + k * BLOCK);
                    sample(&source, u, v, blocks, to + x, stride);
                }
        }
        for (int64_t i = 0; i < job->count; i++)
            if (!add(&image, &job->operations[i]))
                return REFUSED;
        write(job, &numbers, &image, top);
    }
    store_fence();
    return DONE;
}
