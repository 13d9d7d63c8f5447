/* Perspective warps: alone with the bits of albumentations, or merged with other warps. */

#pragma once

#include "merging.h"
#include "warped.h"

/* drawn: a matrix from the image, rows and columns of the visible region; a: border, fill; whether the result is
   resized back to the image; columns that OpenCV processes together; whether the nearest pixel is picked. */

/* Merge the warp into the pending geometry. */
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

/* Warp at once. */
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
