/* Images seen in perspective: alone with the bits of albumentations, or as one of several warps. */

#pragma once

#include "merging.h"
#include "warped.h"

/* drawn: a matrix from the image, rows and columns that it shows; a: border, fill; whether these rows and columns are
   made to be the image's again; columns that OpenCV takes together; whether the next pixel is taken. */

/* Add it to what is still to be done in one resampling. */
static inline int64_t merge_tilt(Run *run, const Step *step, const double *drawn, const double *a) {
    int64_t rows, columns;
    Matrix forth, back = {{0, 0, 0, 0, 0, 0, 0, 0, 1}};
    Warp warp = {.border = (int64_t)a[0], .fill = (int64_t)a[1], .labels = run->program->labels};
    visible_size(run, &rows, &columns);
    memcpy(forth.cells, drawn, sizeof forth.cells);
    warp.matrix = inverse(&forth);
    warp.height = (int64_t)drawn[9], warp.width = (int64_t)drawn[10];
    if (a[2]) {
        back.cells[0] = drawn[10] / (double)columns, back.cells[4] = drawn[9] / (double)rows;
        warp.matrix = product_of_matrices(&warp.matrix, &back);
        warp.height = rows, warp.width = columns;
    }
    return merge_warp(run, step, &warp);
}

/* Do it. */
static inline int64_t tilt(Run *run, const double *drawn, const double *a) {
    const View *v = &run->view;
    int64_t height = (int64_t)drawn[9], width = (int64_t)drawn[10];
    double scale[3] = {1, 1, 1};
    Matrix forth;
    TRY(materialise(run));
    if (a[2]) {
        scale[0] = (double)v->columns / drawn[10], scale[1] = (double)v->rows / drawn[9];
        height = v->rows, width = v->columns;
    }
    for (int k = 0; k < 9; k++)
        forth.cells[k] = scale[k / 3] * drawn[k];
    if (height < 1 || width < 1 || height * width > run->program->most)
        return REFUSED;
    const Matrix back = inverse(&forth);
    return warp_image(run, WARP_PERSPECTIVE, back.cells, height, width, (int64_t)a[0], (int64_t)a[1], (int64_t)a[3], a[4] == 0);
}
