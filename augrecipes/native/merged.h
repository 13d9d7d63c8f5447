/* Merges consecutive crops, flips and warps into one inverse mapping, by products of 3 x 3 matrices from output to
   source at pixel centres; decides where that equals running them one after another (nothing between them hides
   pixels, fills a border, or is coarser than both ends); and estimates the cost of either way.

   Bits: double, sums and products in a fixed order.
   Law: tests/laws/test_native_merges.py, tests/laws/test_merges.py (contract GEOMETRY: a hundredth of a pixel). */

#pragma once

#include <math.h>
#include <string.h>

#include "layout.h"
#include "planes.h"
#include "sampled.h"
#include "layers.h"

enum { MOST_WARPS = 6 }; /* in a row */

typedef struct {
    double cells[9]; /* row by row; from a place in the output to one in the input */
} Matrix;

/* A step that resamples. `border`: as OpenCV numbers them; -1: a resize, which only ever repeats the edge. `labels`:
   nearest neighbour. */
typedef struct {
    Matrix matrix;
    int64_t height, width, border, fill, labels;
} Warp;

/* An image, and the geometry that is still to be applied to it. */
typedef struct Warped {
    View image;
    int pending, neighbours, betweens, bent; /* bent: whether the grid or lens of the job comes first */
    Matrix matrix, own, between[MOST_WARPS];
    int64_t height, width, border, fill;
    Warp last;
    const struct Warped *earlier;
} Warped;

/* Costs, as in compiler/lowering/encodings.py; `decoded`: of a pixel of a file of `wide` columns that is not decoded
   yet, or 0. */
typedef struct {
    double row, column, halved, warped, read, call, decoded, wide;
} Costs;

/* A resize of a window, then flips and rotation by `turn`; and perhaps a part of that, turned again. */
typedef struct {
    int64_t x_min, y_min, x_max, y_max, height, width, turn;
    int parts;
    int64_t part[4], part_turn;
} Resized;

/* The merged geometry of a sample so far, the last of `chain`; afterwards, the job that remains. */
typedef struct Merging {
    int warps, collecting, has_job; /* collecting: steps are being merged; has_job: a job is pending */
    int reads_part; /* whether only the needed part of a file is decoded */
    int64_t reduced; /* the factor by which the image was decoded smaller, or 0 */
    int flushed, enlarged; /* whether a part has been resampled already; whether that has enlarged the image */
    Warped chain[MOST_WARPS];
    Job job;
} Merging;

static const double NEARLY = 1e-6, SLACKNESS = 1.02, STILL = 1e-9; /* STILL: px per pixel, which changes no weight */

static inline int is_affine(const Matrix *m) { return m->cells[6] == 0 && m->cells[7] == 0 && m->cells[8] == 1; }

static Matrix product_of_matrices(const Matrix *left, const Matrix *right) {
    const double *a = left->cells, *b = right->cells;
    if (is_affine(left) && is_affine(right))
        return (Matrix){{a[0] * b[0] + a[1] * b[3], a[0] * b[1] + a[1] * b[4], a[0] * b[2] + a[1] * b[5] + a[2],
                         a[3] * b[0] + a[4] * b[3], a[3] * b[1] + a[4] * b[4], a[3] * b[2] + a[4] * b[5] + a[5], 0, 0,
                         1}};
    Matrix result;
    for (int i = 0; i < 9; i++) {
        const double *row = a + i / 3 * 3, *column = b + i % 3;
        result.cells[i] = row[0] * column[0] + row[1] * column[3] + row[2] * column[6];
    }
    return result;
}

static Matrix inverse(const Matrix *matrix) {
    const double *m = matrix->cells;
    double a = m[0], b = m[1], c = m[2], d = m[3], e = m[4], f = m[5], g = m[6], h = m[7], i = m[8];
    double p = e * i - f * h, q = f * g - d * i, r = d * h - e * g, k = 1.0 / (a * p + b * q + c * r);
    int flat = is_affine(matrix); /* stays affine, to the last bit */
    return (Matrix){{p * k, (c * h - b * i) * k, (b * f - c * e) * k, q * k, (a * i - c * g) * k, (c * d - a * f) * k,
                     flat ? 0 : r * k, flat ? 0 : (b * g - a * h) * k, flat ? 1 : (a * e - b * d) * k}};
}

static Matrix scaling(double x, double y, double x0, double y0) {
    return (Matrix){{x, 0, x0 + 0.5 * x - 0.5, 0, y, y0 + 0.5 * y - 0.5, 0, 0, 1}};
}

/* The matrix from an image of height x width, after flips and rotation, to the one before them. */
static Matrix dihedral_matrix(int64_t dihedral_bits, int64_t height, int64_t width) {
    double sx = dihedral_bits & 4 ? -1 : 1, tx = dihedral_bits & 4 ? (double)width - 1 : 0;
    double sy = dihedral_bits & 2 ? -1 : 1, ty = dihedral_bits & 2 ? (double)height - 1 : 0;
    return dihedral_bits & 1 ? (Matrix){{0, sy, ty, sx, 0, tx, 0, 0, 1}} : (Matrix){{sx, 0, tx, 0, sy, ty, 0, 0, 1}};
}

static void through(const Matrix *matrix, double x, double y, double *u, double *v) {
    const double *m = matrix->cells;
    double w = m[6] * x + m[7] * y + m[8];
    *u = (m[0] * x + m[1] * y + m[2]) / w, *v = (m[3] * x + m[4] * y + m[5]) / w;
}

/* The derivatives of the place: of x by x and by y, of y by x and by y. */
static void slopes(const Matrix *matrix, double x, double y, double *to) {
    const double *m = matrix->cells;
    double u, v, w = m[6] * x + m[7] * y + m[8];
    through(matrix, x, y, &u, &v);
    to[0] = (m[0] - m[6] * u) / w, to[1] = (m[1] - m[7] * u) / w;
    to[2] = (m[3] - m[6] * v) / w, to[3] = (m[4] - m[7] * v) / w;
}

static void map_back(const Matrix *matrix, double u, double v, double *x, double *y) {
    const double *m = matrix->cells;
    double p = m[0] - m[6] * u, q = m[1] - m[7] * u, r = m[3] - m[6] * v, s = m[4] - m[7] * v;
    double k = m[8] * u - m[2], l = m[8] * v - m[5], area = p * s - q * r;
    *x = (k * s - q * l) / area, *y = (p * l - k * r) / area;
}

static int is_coarse(const Matrix *matrix) {
    const double *m = matrix->cells;
    if (!is_affine(matrix))
        return 1;
    double total = m[0] * m[0] + m[1] * m[1] + m[3] * m[3] + m[4] * m[4], area = m[0] * m[4] - m[1] * m[3];
    return total + sqrt(MAX(0.0, total * total - 4 * area * area)) > 2 * SLACKNESS * SLACKNESS;
}

/* Whether a warp enlarges, along rows or columns of its result. */
static int enlarges(const Matrix *matrix) {
    const double *m = matrix->cells;
    return MIN(hypot(m[0], m[3]), hypot(m[1], m[4])) * SLACKNESS < fabs(m[8]);
}

static double spacing(const double *slope, const double *u) {
    return hypot(slope[0] * u[0] + slope[2] * u[1], slope[1] * u[0] + slope[3] * u[1]);
}

/* Whether the pixel grid of an intermediate image is coarser than both that of the source and that of the result. */
static int narrows(const Matrix *between, int count, const Matrix *last, int64_t height, int64_t width) {
    double right = (double)width - 1, bottom = (double)height - 1, end[4], middle[4];
    const double xs[5] = {0, right, 0, right, right / 2}, ys[5] = {0, 0, bottom, bottom, bottom / 2};
    int flat = is_affine(last);
    for (int i = 0; i < count; i++)
        flat &= is_affine(between + i);
    for (int k = 0; count && k < (flat ? 1 : 5); k++)
        for (int i = 0; i < count; i++) {
            double x = xs[k], y = ys[k], u, v;
            slopes(last, x, y, end);
            if (!flat) {
                through(last, x, y, &u, &v);
                map_back(between + i, u, v, &x, &y);
            }
            slopes(between + i, x, y, middle);
            for (int n = 0; n < 8; n++) {
                const double angle = n * 3.14159265358979323846 / 8, to[2] = {cos(angle), sin(angle)};
                double there = spacing(end, to);
                if (spacing(middle, to) > SLACKNESS * MAX(1.0, there))
                    return 1;
            }
        }
    return 0;
}

static Warped new_warped(const View *image, const Warp *warp) {
    return (Warped){.image = *image, .pending = 1, .neighbours = warp->border >= 0, .matrix = warp->matrix,
                    .own = warp->matrix, .height = warp->height, .width = warp->width,
                    .border = warp->border < 0 ? 1 : warp->border, .fill = warp->fill, .last = *warp};
}

/* Whether a warp reads nothing outside of its image, apart from pixels that repeat the edge. */
static int stays_inside(const Warp *w, int64_t height, int64_t width) {
    const double *m = w->matrix.cells;
    double reach = w->border < 0 ? MIN(0.5, MIN(0.5 * hypot(m[0], m[1]), 0.5 * hypot(m[3], m[4]))) : 0.0;
    double right = (double)w->width - 1, bottom = (double)w->height - 1;
    reach += NEARLY;
    for (int k = 0; k < 4; k++) {
        double x = k & 1 ? right : 0, y = k & 2 ? bottom : 0, u, v;
        if (m[6] * x + m[7] * y + m[8] <= 0)
            return 0;
        through(&w->matrix, x, y, &u, &v);
        if (!(-reach <= u && u <= (double)width - 1 + reach && -reach <= v && v <= (double)height - 1 + reach))
            return 0;
    }
    return 1;
}

/* Whether a warp is the identity. */
static int is_identity_warp(const Warp *w, int64_t height, int64_t width) {
    const Matrix still = scaling(1, 1, 0, 0);
    int same = w->height == height && w->width == width;
    for (int i = 0; i < 9; i++)
        same &= fabs(w->matrix.cells[i] - still.cells[i]) < STILL;
    return same;
}

/* Merge one more warp into `next`; false if that differs from running one after the other. */
static int append_warp(const Warped *w, const Warp *warp, Warped *next) {
    if (!w->pending) {
        *next = new_warped(&w->image, warp);
        return 1;
    }
    if (!stays_inside(warp, w->height, w->width) || (w->bent && enlarges(&warp->matrix)))
        return 0;
    *next = *w;
    next->matrix = product_of_matrices(&w->matrix, &warp->matrix);
    if (is_coarse(&w->matrix))
        next->between[next->betweens++] = w->matrix;
    next->height = warp->height, next->width = warp->width;
    next->last = *warp, next->own = warp->matrix, next->earlier = w;
    return !narrows(next->between, next->betweens, &next->matrix, warp->height, warp->width);
}

static void append_move(Warped *w, const Matrix *move, int64_t height, int64_t width) {
    w->matrix = product_of_matrices(&w->matrix, move);
    w->own = w->earlier ? product_of_matrices(&w->own, move) : w->matrix;
    w->height = height, w->width = width;
}

static void append_crop(Warped *w, int64_t x_min, int64_t y_min, int64_t x_max, int64_t y_max) {
    if (!w->pending) {
        cut(&w->image, x_min, y_min, x_max, y_max);
        return;
    }
    const Matrix shift = {{1, 0, (double)x_min, 0, 1, (double)y_min, 0, 0, 1}};
    w->neighbours |= y_max - y_min != w->height || x_max - x_min != w->width;
    append_move(w, &shift, y_max - y_min, x_max - x_min);
}

static void append_dihedral(Warped *w, int64_t dihedral_bits) {
    if (!w->pending) {
        apply_dihedral(&w->image, dihedral_bits);
        return;
    }
    int64_t height = dihedral_bits & 1 ? w->width : w->height, width = dihedral_bits & 1 ? w->height : w->width;
    const Matrix move = dihedral_matrix(dihedral_bits, height, width);
    append_move(w, &move, height, width);
}

/* Whether the labels are resized once, and flipped or rotated only after that: OpenCV picks the pixel to the left and
   above. */
static int labels_alike(const Warped *w) {
    return !w->earlier && w->last.border < 0 && w->image.down[0] == 1 && w->image.across[1] == 1;
}

/* The equivalent resize of a window of whole pixels; false if there is none. */
static int upright_resize(const Warped *w, Resized *to) {
    const double *m = w->matrix.cells;
    int transposes = m[0] == 0;
    if (w->bent || (w->last.labels && !labels_alike(w)))
        return 0;
    if (m[6] != 0 || m[7] != 0 || !((m[1] == 0 && m[3] == 0) || (m[0] == 0 && m[4] == 0)) ||
        (w->neighbours && MIN(hypot(m[0], m[1]), hypot(m[3], m[4])) < 1))
        return 0;
    double x = transposes ? m[1] : m[0], y = transposes ? m[3] : m[4];
    double across = (double)(transposes ? w->height : w->width), down = (double)(transposes ? w->width : w->height);
    double left = m[2] - 0.5 * x + 0.5, top = m[5] - 0.5 * y + 0.5;
    double xs[2] = {MIN(left, left + x * across), MAX(left, left + x * across)};
    double ys[2] = {MIN(top, top + y * down), MAX(top, top + y * down)};
    double x0 = rint(xs[0]), x1 = rint(xs[1]), y0 = rint(ys[0]), y1 = rint(ys[1]);
    if (!(fabs(xs[0] - x0) <= NEARLY && fabs(xs[1] - x1) <= NEARLY && fabs(ys[0] - y0) <= NEARLY &&
          fabs(ys[1] - y1) <= NEARLY && 0 <= x0 && x0 < x1 && x1 <= (double)w->image.columns && 0 <= y0 && y0 < y1 &&
          y1 <= (double)w->image.rows))
        return 0;
    int flips_y = transposes ? x < 0 : y < 0, flips_x = transposes ? y < 0 : x < 0;
    *to = (Resized){(int64_t)x0, (int64_t)y0, (int64_t)x1, (int64_t)y1, transposes ? w->width : w->height,
                    transposes ? w->height : w->width, transposes + 2 * flips_y + 4 * flips_x, 0, {0}, 0};
    return 1;
}

/* The only resize, of which a part is visible, and that part. */
static int part_of_resize(const Warped *w, Resized *to) {
    const double *l = w->last.matrix.cells, *o = w->own.cells;
    Warped whole = new_warped(&w->image, &w->last);
    if (w->last.border >= 0 || w->earlier || !upright_resize(&whole, to))
        return 0;
    double x = l[0], y = l[4], a = o[0] / x, b = o[1] / x, c = (o[2] - l[2]) / x;
    double d = o[3] / y, e = o[4] / y, f = (o[5] - l[5]) / y;
    double right = (double)w->width - 1, bottom = (double)w->height - 1;
    double end_x = c + a * right + b * bottom, end_y = f + d * right + e * bottom;
    to->parts = 1;
    to->part[0] = (int64_t)rint(MIN(c, end_x)), to->part[1] = (int64_t)rint(MIN(f, end_y));
    to->part[2] = (int64_t)rint(MAX(c, end_x)) + 1, to->part[3] = (int64_t)rint(MAX(f, end_y)) + 1;
    int transposes = fabs(b) > 0.5;
    int flips_y = transposes ? b < -0.5 : e < -0.5, flips_x = transposes ? d < -0.5 : a < -0.5;
    to->part_turn = transposes + 2 * flips_y + 4 * flips_x;
    return 1;
}

/* All rows of a file up to the last of a part are decoded. */
static double cost_of_decoding(const Costs *c, View image, int64_t x_min, int64_t y_min, int64_t x_max, int64_t y_max) {
    cut(&image, x_min, y_min, x_max, y_max);
    return c->decoded * (double)visible_rect(&image).bottom * c->wide;
}

static double cost_of_resize(const Costs *c, const Warped *w, const Resized *r) {
    double rows = (double)(r->y_max - r->y_min), columns = (double)(r->x_max - r->x_min);
    double height = (double)r->height, width = (double)r->width;
    double decoding = cost_of_decoding(c, w->image, r->x_min, r->y_min, r->x_max, r->y_max);
    if (rows == 2 * height && columns == 2 * width)
        return c->call + c->halved * height * width + decoding;
    return c->call + width * (c->row * MIN(rows, 2 * height) + c->column * height) + decoding;
}

static const double FAR_OFF = (double)(1 << 30); /* px */

/* The range of columns and of rows of the places of a warp's corners. */
static void find_reach(const Matrix *matrix, int64_t height, int64_t width, double low[2], double high[2]) {
    const double *m = matrix->cells;
    for (int k = 0; k < 4; k++) {
        double x = k & 1 ? (double)width - 1 : 0, y = k & 2 ? (double)height - 1 : 0, at[2];
        int behind = m[6] * x + m[7] * y + m[8] <= 0; /* beyond the horizon: anything may be read */
        through(matrix, x, y, &at[0], &at[1]);
        for (int i = 0; i < 2; i++) {
            low[i] = behind ? -FAR_OFF : MIN(k ? low[i] : FAR_OFF, at[i]);
            high[i] = behind ? FAR_OFF : MAX(k ? high[i] : -FAR_OFF, at[i]);
        }
    }
}

/* Columns and rows, ends exclusive, that a warp reads, inside its image and outside. */
static void find_read(const Matrix *matrix, int64_t height, int64_t width, int64_t from[2], int64_t to[2]) {
    double low[2], high[2];
    find_reach(matrix, height, width, low, high);
    for (int i = 0; i < 2; i++)
        from[i] = (int64_t)floor(MAX(low[i], -FAR_OFF)) - 2, to[i] = (int64_t)ceil(MIN(high[i], FAR_OFF)) + 3;
}

static double cost_of_warp(const Costs *c, const Warped *w) {
    int64_t from[2], to[2];
    find_read(&w->matrix, w->height, w->width, from, to);
    from[0] = MAX(from[0], 0), to[0] = MIN(to[0], w->image.columns);
    from[1] = MAX(from[1], 0), to[1] = MIN(to[1], w->image.rows);
    if (from[0] >= to[0] || from[1] >= to[1])
        return 0;
    return c->call + c->warped * (double)w->height * (double)w->width +
           c->read * (double)(to[1] - from[1]) * (double)(to[0] - from[0]) +
           cost_of_decoding(c, w->image, from[0], from[1], to[0], to[1]);
}

static double cost_merged(const Costs *c, const Warped *w) {
    Resized found;
    double warping = cost_of_warp(c, w);
    if (upright_resize(w, &found))
        return cost_of_resize(c, w, &found);
    return part_of_resize(w, &found) ? MIN(cost_of_resize(c, w, &found), warping) : warping;
}

static double cost_of(const Costs *c, const Warped *w);

/* The last warp alone, on the result of the earlier ones. */
static Warped last_step(const Warped *w, const View *image) {
    Warped alone = new_warped(image, &w->last);
    int same = MIN(w->height, w->width) == MIN(w->last.height, w->last.width) &&
               MAX(w->height, w->width) == MAX(w->last.height, w->last.width);
    alone.matrix = alone.own = w->own;
    alone.height = w->height, alone.width = w->width;
    alone.neighbours |= !same;
    return alone;
}

static double cost_stepwise(const Costs *c, const Warped *w) {
    View image = whole_image(0, w->earlier->height, w->earlier->width, 0, w->image.channels);
    Warped alone = last_step(w, &image);
    Costs decoded = *c;
    decoded.decoded = 0;
    return cost_of(c, w->earlier) + cost_merged(&decoded, &alone);
}

static double cost_of(const Costs *c, const Warped *w) {
    if (!w->pending)
        return 0;
    double at_once = cost_merged(c, w);
    return w->earlier ? MIN(at_once, cost_stepwise(c, w)) : at_once;
}

static int stepwise_is_cheaper(const Costs *c, const Warped *w) {
    return w->earlier && cost_stepwise(c, w) < cost_merged(c, w);
}

/* The resize, or a part of a resize, if it is cheaper than a warp. */
static int resize_is_cheaper(const Costs *c, const Warped *w, Resized *to) {
    if (upright_resize(w, to))
        return 1;
    return part_of_resize(w, to) && cost_of_resize(c, w, to) < cost_of_warp(c, w);
}

/* Resize a window. */
static int64_t resized_part(Run *run, const Resized *found, int64_t interpolation) {
    cut(&run->view, found->x_min, found->y_min, found->x_max, found->y_max);
    int64_t answer = resize_upright(run, found->height, found->width, interpolation);
    apply_dihedral(&run->view, found->turn);
    if (found->parts) {
        cut(&run->view, found->part[0], found->part[1], found->part[2], found->part[3]);
        apply_dihedral(&run->view, found->part_turn);
    }
    return answer;
}

/* The factor of the box filter before a warp. */
static int64_t reduction(const Matrix *matrix) {
    const double *m = matrix->cells;
    double shrink = MIN(hypot(m[0], m[3]), hypot(m[1], m[4]));
    return m[6] != 0 || m[7] != 0 || shrink < 3 ? 1 : shrink < 6 ? 2 : shrink < 12 ? 4 : 8;
}
