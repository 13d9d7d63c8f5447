/* Masks that were cut, turned and warped: resampled in one go, or step by step where that costs less, each pixel to one
   that was there. */

#ifndef AUGRECIPES_LABELS_H
#define AUGRECIPES_LABELS_H

#include "merged.h"
#include "warped.h"

/* The image that a warp reads, by rows and columns; and the matrix to it. */
static inline View upright_base(const Warped *w, Matrix *matrix) {
    View base = w->moved;
    int64_t x = base.x, y = base.y, turned = base.down[0] != 1 || base.across[1] != 1;
    int64_t last_y = y + (base.rows - 1) * base.down[0] + (base.columns - 1) * base.across[0];
    int64_t last_x = x + (base.rows - 1) * base.down[1] + (base.columns - 1) * base.across[1];
    base.y = MIN(y, last_y), base.x = MIN(x, last_x);
    const Matrix to_base = {{(double)base.across[1], (double)base.down[1], (double)(x - base.x), (double)base.across[0],
                             (double)base.down[0], (double)(y - base.y), 0, 0, 1}};
    *matrix = turned ? product_of_matrices(&to_base, &w->matrix) : w->matrix;
    base.rows = MAX(y, last_y) - base.y + 1, base.columns = MAX(x, last_x) - base.x + 1;
    base.down[0] = base.across[1] = 1, base.down[1] = base.across[0] = 0;
    return base;
}

/* Cut an image to what a warp reads of it: matrices are handed on as float32, and tell where that begins. */
static void cut_to_read(View *base, Matrix *matrix, const Warped *w) {
    const double far = (double)(1 << 30), *m = matrix->of;
    double low[2] = {far, far}, high[2] = {-far, -far};
    int64_t from[2], to[2], limits[2] = {base->columns, base->rows}, within = 1;
    for (int k = 0; k < 4; k++) {
        double x = k & 1 ? (double)w->width - 1 : 0, y = k & 2 ? (double)w->height - 1 : 0, at[2];
        int behind = m[6] * x + m[7] * y + m[8] <= 0;
        through(matrix, x, y, &at[0], &at[1]);
        for (int i = 0; i < 2; i++)
            low[i] = behind ? -far : MIN(low[i], at[i]), high[i] = behind ? far : MAX(high[i], at[i]);
    }
    for (int i = 0; i < 2; i++) {
        from[i] = (int64_t)floor(MAX(low[i], -far)) - 2, to[i] = (int64_t)ceil(MIN(high[i], far)) + 3;
        within &= from[i] >= 0 && to[i] <= limits[i];
        from[i] = MAX(from[i], 0), to[i] = MIN(to[i], limits[i]);
    }
    if (!within && w->border != BORDER_CONSTANT && w->border != BORDER_REPLICATE)
        return; /* a reflection may read from anywhere */
    if (from[0] >= to[0] || from[1] >= to[1])
        from[0] = from[1] = 0, to[0] = to[1] = 1; /* nothing of the image is seen */
    cut(base, from[0], from[1], to[0], to[1]);
    const Matrix shift = {{1, 0, (double)-from[0], 0, 1, (double)-from[1], 0, 0, 1}};
    if (from[0] || from[1])
        *matrix = product_of_matrices(&shift, matrix);
}

/* Warp labels. bodies: columns that OpenCV takes together, of matrices without and with a horizon. */
static int64_t pick_labels(Run *run, const Warped *w, const double *bodies) {
    View *v = &run->view;
    Warped seen = *w;
    Matrix matrix;
    int64_t down, across, row = w->width * v->channels;
    if (dry_run(run)) {
        *v = whole_image(0, w->height, w->width, 0, v->channels);
        return DONE;
    }
    TRY(ensure_pixels(run));
    uint8_t *to = alloc_image(run, w->height, w->width, LAST_STEP);
    CHECK_ALLOC(to);
    seen.moved = *v;
    View base = upright_base(&seen, &matrix);
    cut_to_read(&base, &matrix, w);
    const uint8_t *from = first_pixel(&base, &down, &across);
    int kind = matrix.of[6] != 0 || matrix.of[7] != 0;
    int64_t body = (int64_t)bodies[kind];
    *v = whole_image(to, w->height, w->width, row, v->channels);
    if (body < 1)
        return REFUSED;
    return JOIN(warp, ISA)(from, base.rows, base.columns, base.step, (int32_t)v->channels, 0, kind, matrix.of, 0, 0, 0, 0,
                           0, 0, (int32_t)w->border, (uint32_t)w->fill, w->width / body * body, to, 0, 0, w->height,
                           w->width, row);
}

/* Carry out what is to be done to labels. */
static int64_t resample_labels(Run *run, const Costs *c, const Warped *w, const double *bodies) {
    Resized found;
    if (w->pending && stepwise_is_cheaper(c, w)) {
        TRY(resample_labels(run, c, w->earlier, bodies));
        const Warped alone = last_step(w, &run->view);
        return resample_labels(run, c, &alone, bodies);
    }
    run->view = w->moved;
    if (!w->pending)
        return DONE;
    if (!resize_is_cheaper(c, w, &found))
        return pick_labels(run, w, bodies);
    return resized_part(run, &found, INTERP_NEAREST_MIDDLE);
}

#endif
