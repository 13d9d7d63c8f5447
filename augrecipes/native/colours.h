/* Colour operations on an image: consecutive matrices are merged where nothing saturates between them; the others are
   hue shifts and tables.

   tests/laws/job_in_numpy.py defines each operation. Means and matrices are in integers; the rest is floating point
   in a fixed order, so every instruction set has the same bits. */

#pragma once

#include "hue.h"
#include "layout.h"
#include "planes.h"
#include "sampled.h"
#include "matrix.h"

enum { LARGEST = 1000000 }; /* the largest number of an operation */
enum { GRID = 32, FIT = 6 }; /* the matrix is fitted to GRID x GRID pixels, and may be FIT levels off there */
enum { SEEN = GRID * GRID };

/* An image as levels, three rows for each of its rows, and what is still to be done to them. */
typedef struct {
    uint8_t *levels;
    int64_t height, width, stride, top; /* top: its first row, within the result */
    double rows[COLOURS][4]; /* the pending matrix, if `pending` */
    Matrix whole;            /* the same in integers */
    int pending, measured;
    double low, high, means[COLOURS]; /* of the current levels, if `measured` */
} Image;

static inline uint8_t *plane_of(const Image *p, int64_t y, int c) { return p->levels + (y * COLOURS + c) * p->stride; }

static void measure(Image *p) {
    Shorts least = (Shorts){0} + 255, most = {0};
    if (p->measured)
        return;
    for (int c = 0; c < COLOURS; c++) {
        RunningStats seen = {0, 0, least, most, {0}};
        for (int64_t y = 0; y < p->height; y++)
            update_stats(&seen, plane_of(p, y, c), p->width);
        flush_partial(&seen);
        least = seen.least, most = seen.most;
        p->means[c] = (double)seen.sum / (double)(p->height * p->width);
    }
    for (int i = 0; i < LANES; i++) {
        p->low = i ? MIN(p->low, least[i]) : least[i];
        p->high = i ? MAX(p->high, most[i]) : most[i];
    }
    p->measured = 1;
}

/* Levels of row y from `x` on, up to ACROSS of them, through the pending matrix. */
static inline void take_levels(const Image *p, int64_t y, int64_t x, int64_t count, uint8_t (*restrict planes)[ACROSS]) {
    const uint8_t *red = plane_of(p, y, 0) + x, *green = plane_of(p, y, 1) + x, *blue = plane_of(p, y, 2) + x;
    if (p->pending)
        through_matrix(&p->whole, count, red, green, blue, planes);
    else {
        memcpy(planes[0], red, (size_t)count);
        memcpy(planes[1], green, (size_t)count);
        memcpy(planes[2], blue, (size_t)count);
    }
}

/* Apply the pending matrix, and then a hue shift or tables, if given. */
static void materialise(Image *p, const Shift *by, const Rounded *where, const uint8_t *tables) {
    uint8_t planes[COLOURS][ACROSS];
    if (!p->pending && !by && !tables)
        return;
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x += ACROSS) {
            int64_t count = MIN(ACROSS, p->width - x);
            take_levels(p, y, x, count, planes);
            if (by)
                turn_from(planes, x, p->top + y, count, *by, where);
            for (int c = 0; c < COLOURS && tables; c++)
                for (int64_t i = 0; i < count; i++)
                    planes[c][i] = tables[256 * c + planes[c][i]];
            for (int c = 0; c < COLOURS; c++)
                memcpy(plane_of(p, y, c) + x, planes[c], (size_t)count);
        }
    p->pending = p->measured = 0;
}

/* Whether the pending matrix may take a level out of range, where an image would saturate. */
static int may_clip(Image *p) {
    measure(p);
    for (int c = 0; c < COLOURS; c++) {
        double least = p->rows[c][3], most = least;
        for (int k = 0; k < COLOURS; k++) {
            double weight = p->rows[c][k];
            least += weight * (weight > 0 ? p->low : p->high);
            most += weight * (weight > 0 ? p->high : p->low);
        }
        if (least < -0.5 || most > 255.5)
            return 1;
    }
    return 0;
}

static void apply_if_clipping(Image *p) {
    if (p->pending && may_clip(p))
        materialise(p, NULL, NULL, NULL);
}

/* Append a matrix, three rows of four; false if the numbers of the product are too large. */
static int add_matrix(Image *p, const double *rows) {
    double result[COLOURS][4];
    apply_if_clipping(p);
    for (int c = 0; c < COLOURS; c++) {
        const double *row = rows + 4 * c;
        for (int k = 0; k < 4; k++) {
            double before = row[0] * p->rows[0][k] + row[1] * p->rows[1][k] + row[2] * p->rows[2][k];
            result[c][k] = !p->pending ? row[k] : k < 3 ? before : before + row[3];
        }
    }
    memcpy(p->rows, result, sizeof result);
    p->pending = 1;
    return in_whole_numbers(result, &p->whole);
}

/* Scale the distance from the mean luma. The offset of -0.499 makes rounding truncate fractions and keep integers. */
static int add_contrast(Image *p, double factor) {
    double mean = 0;
    apply_if_clipping(p);
    measure(p);
    for (int c = 0; c < COLOURS; c++) {
        const double luma[COLOURS] = {0.299, 0.587, 0.114};
        const double *r = p->rows[c], *m = p->means;
        mean += luma[c] * (p->pending ? r[0] * m[0] + r[1] * m[1] + r[2] * m[2] + r[3] : m[c]);
    }
    double offset = mean * (1 - factor) - 0.499;
    const double rows[12] = {factor, 0, 0, offset, 0, factor, 0, offset, 0, 0, factor, offset};
    return add_matrix(p, rows);
}

/* Solve four equations for three right-hand sides, by Gaussian elimination with partial pivoting. False if they are
   singular. */
static int solve(double a[4][7]) {
    for (int k = 0; k < 4; k++) {
        int best = k;
        for (int i = k + 1; i < 4; i++)
            best = fabs(a[i][k]) > fabs(a[best][k]) ? i : best;
        for (int j = 0; j < 7; j++) {
            double held = a[k][j];
            a[k][j] = a[best][j], a[best][j] = held;
        }
        if (a[k][k] == 0)
            return 0;
        for (int i = 0; i < 4; i++) {
            double times = a[i][k] / a[k][k];
            for (int j = k; j < 7 && i != k; j++)
                a[i][j] -= times * a[k][j];
        }
    }
    return 1;
}

/* The dot product of two lists of levels. */
static int32_t product(const uint8_t *restrict a, const uint8_t *restrict b) {
    int32_t sum = 0;
    for (int i = 0; i < SEEN; i++)
        sum += (int16_t)a[i] * (int16_t)b[i];
    return sum;
}

/* Fit a matrix to a hue shift, by least squares over some pixels of the image; false if it is too far off there. */
static int fit(Image *p, Shift by, double rows[12]) {
    /* The levels of these pixels, ones, and the shifted levels: integer sums of products of any two are exact. */
    uint8_t known[7][SEEN], planes[COLOURS][ACROSS], off = 0;
    double a[4][7];
    if (p->height < 2 * GRID || p->width < 2 * GRID)
        return 0;
    apply_if_clipping(p);
    for (int64_t y = 0, at = 0; y < GRID; y++)
        for (int64_t x = 0; x < GRID; x++, at++)
            for (int c = 0; c < COLOURS; c++)
                known[c][at] = plane_of(p, y * p->height / GRID, c)[x * p->width / GRID];
    memset(known[3], 1, SEEN);
    for (int64_t at = 0; at < SEEN; at += ACROSS) {
        for (int c = 0; c < COLOURS && !p->pending; c++)
            memcpy(planes[c], known[c] + at, ACROSS);
        if (p->pending)
            through_matrix(&p->whole, ACROSS, known[0] + at, known[1] + at, known[2] + at, planes);
        for (int c = 0; c < COLOURS; c++)
            memcpy(known[c] + at, planes[c], ACROSS);
        turn(planes, ACROSS, by, 0, 0);
        for (int c = 0; c < COLOURS; c++)
            memcpy(known[4 + c] + at, planes[c], ACROSS);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 7; j++) /* singular for images of one colour */
            a[i][j] = j < i ? a[j][i] : (double)product(known[i], known[j]) + (i == j ? 1e-3 : 0.0);
    if (!solve(a))
        return 0;
    for (int c = 0; c < COLOURS; c++)
        for (int k = 0; k < 4; k++)
            rows[4 * c + k] = a[k][4 + c] / a[k][k];
    Matrix whole;
    if (!in_whole_numbers((const double(*)[4])rows, &whole))
        return 0;
    for (int64_t at = 0; at < SEEN; at += ACROSS) {
        through_matrix(&whole, ACROSS, known[0] + at, known[1] + at, known[2] + at, planes);
        for (int c = 0; c < COLOURS; c++)
            for (int x = 0; x < ACROSS; x++) {
                uint8_t one = planes[c][x], two = known[4 + c][at + x], apart = (uint8_t)(MAX(one, two) - MIN(one, two));
                off = MAX(off, apart);
            }
    }
    return off <= FIT;
}

/* Append an operation; false if a matrix has numbers that are too large. */
static int add(Image *p, const Operation *o) {
    const double *n = o->numbers;
    double fitted[12];
    Shift by = {(int32_t)n[0], 0, 0};
    const Rounded where = {(int64_t)n[3], (int64_t)n[4], (int64_t)n[5], (int64_t)n[6]}; /* for COLOUR_HUE and COLOUR_HSV */
    switch (o->kind) {
    case COLOUR_MATRIX: return add_matrix(p, n);
    case COLOUR_CONTRAST: return add_contrast(p, n[0]);
    case COLOUR_HUE:
        if (n[1] != 0 && fit(p, by, fitted))
            return add_matrix(p, fitted);
        materialise(p, &by, &where, NULL);
        return 1;
    case COLOUR_HSV:
        by.saturation = (int32_t)n[1], by.value = (int32_t)n[2];
        materialise(p, &by, &where, NULL);
        return 1;
    default: materialise(p, NULL, NULL, o->table); return 1;
    }
}
