/* Warps of label masks: resampled once, or step by step where that costs less, each pixel to one of the mask. */

#pragma once

#include "merged.h"
#include "warped.h"

/* The image that a warp reads, upright, and the matrix to it. */
static inline View upright_base(const Warped *w, Matrix *matrix) {
    const View turned = w->image, base = upright_view(turned);
    const Matrix to_base = {{(double)turned.across[1], (double)turned.down[1], (double)(turned.x - base.x),
                             (double)turned.across[0], (double)turned.down[0], (double)(turned.y - base.y), 0, 0, 1}};
    *matrix = is_turned(&turned) ? product_of_matrices(&to_base, &w->matrix) : w->matrix;
    return base;
}

/* Crop an image to what a warp reads of it: matrices are passed as float32, so their offset decides the bits. */
static void cut_to_read(View *base, Matrix *matrix, const Warped *w) {
    int64_t from[2], to[2], limits[2] = {base->columns, base->rows}, within = 1;
    find_read(matrix, w->height, w->width, from, to);
    for (int i = 0; i < 2; i++) {
        within &= from[i] >= 0 && to[i] <= limits[i];
        from[i] = MAX(from[i], 0), to[i] = MIN(to[i], limits[i]);
    }
    if (!within && w->border != BORDER_CONSTANT && w->border != BORDER_REPLICATE)
        return; /* a mirrored border may read anywhere */
    if (from[0] >= to[0] || from[1] >= to[1])
        from[0] = from[1] = 0, to[0] = to[1] = 1; /* none of the image is visible */
    cut(base, from[0], from[1], to[0], to[1]);
    const Matrix shift = {{1, 0, (double)-from[0], 0, 1, (double)-from[1], 0, 0, 1}};
    if (from[0] || from[1])
        *matrix = product_of_matrices(&shift, matrix);
}

/* Warp labels. bodies: columns that OpenCV processes together, for affine and for perspective matrices. */
static int64_t pick_labels(Run *run, const Warped *w, const double *bodies) {
    Warped seen = *w;
    Matrix matrix;
    if (dry_image(run, w->height, w->width))
        return DONE;
    TRY(ensure_pixels(run));
    seen.image = run->view;
    run->view = upright_base(&seen, &matrix);
    cut_to_read(&run->view, &matrix, w);
    int kind = matrix.cells[6] != 0 || matrix.cells[7] != 0 ? WARP_PERSPECTIVE : WARP_AFFINE;
    return warp_image(run, kind, matrix.cells, w->height, w->width, w->border, w->fill, (int64_t)bodies[kind], 0);
}

/* Resample labels by what is pending. */
static int64_t resample_labels(Run *run, const Costs *c, const Warped *w, const double *bodies) {
    Resized found;
    if (w->pending && stepwise_is_cheaper(c, w)) {
        TRY(resample_labels(run, c, w->earlier, bodies));
        const Warped alone = last_step(w, &run->view);
        return resample_labels(run, c, &alone, bodies);
    }
    run->view = w->image;
    if (!w->pending)
        return DONE;
    if (!resize_is_cheaper(c, w, &found))
        return pick_labels(run, w, bodies);
    return resized_part(run, &found, INTERP_NEAREST_MIDDLE);
}
