/* Distortions of an image: along a grid with columns and rows of varying width, or as by a lens. The source places
   are computed a line, or some rows, at a time.

   They have the bits of albumentations. */

#pragma once

#include "drawn_distortions.h"
#include "merging.h"
#include "near.h"
#include "warped.h"

enum { AT_ONCE = 16 }; /* rows whose places are computed together */

EXPORT int32_t JOIN(lens, ISA)(int64_t, int64_t, double, int64_t, int64_t, double *, float *, float *);

/* `count` places from `first` to `last`, as numpy.linspace has them. */
static inline void spread(double first, double last, int64_t count, float *to) {
    double all = last - first, parts = (double)(count - 1), apart = all / parts;
    for (int64_t k = 0; k < count; k++)
        to[k] = (float)((apart != 0 ? (double)k * apart : (double)k / parts * all) + first);
    to[count - 1] = (float)last;
}

/* The source places of the pixels of a side whose parts have these lengths. */
static inline void stretch(int64_t size, int parts, const double *lengths, float *to) {
    int64_t part = size / parts;
    double before = 0;
    memset(to, 0, (size_t)size * sizeof *to);
    for (int k = 0; k <= parts; k++) {
        double behind = before + (double)part * lengths[k];
        int64_t first = k * part, count = MIN(first + part, size) - first;
        if (count > 1)
            spread(before, behind, count, to + first);
        else if (count == 1)
            to[first] = (float)before;
        before = behind;
    }
}

/* Distort the image with the drawn parameters. */
static inline int64_t distort(Run *run, const Step *step, const double *drawn) {
    View *v = &run->view;
    const double *a = step->arguments + DRAW_ARGUMENTS;
    int64_t rows = v->rows, columns = v->columns, row = columns * v->channels, down, across;
    int64_t lens = step->effect == OP_DISTORTS_LENS || step->effect == OP_BENDS_LENS;
    TRY(materialise(run));
    if (dry_image(run, rows, columns))
        return DONE;
    TRY(ensure_upright(run));
    uint8_t *to = alloc_image(run, rows, columns, LAST_STEP);
    float *x = (float *)arena_alloc(run, (lens ? AT_ONCE * columns : columns) * (int64_t)sizeof *x);
    float *y = (float *)arena_alloc(run, (lens ? AT_ONCE * columns : rows) * (int64_t)sizeof *y);
    double *line = (double *)arena_alloc(run, lens ? columns * (int64_t)sizeof *line : 0);
    CHECK_ALLOC(to && x && y && line);
    const uint8_t *from = first_pixel(v, &down, &across);
    if (!lens) {
        stretch(columns, (int)a[3], drawn, x);
        stretch(rows, (int)a[3], drawn + (int)a[3] + 1, y);
    }
    for (int64_t top = 0, count = rows; top < rows; top += count) {
        if (lens) {
            count = MIN(AT_ONCE, rows - top);
            TRY(JOIN(lens, ISA)(rows, columns, drawn[0], top, count, line, x, y));
        }
        TRY(JOIN(warp, ISA)(from, rows, columns, down, (int32_t)v->channels, a[4] == 0, WARP_MAPS, 0, x, lens ? columns : 0, 1, y,
                            lens ? columns : 1, lens, (int32_t)a[0], (uint32_t)a[1], columns, to + top * row, 0, 0, count,
                            columns, row));
    }
    *v = whole_image(to, rows, columns, row, v->channels);
    return DONE;
}

/* The source places of a side's pixels, in 1/65536 px, padded by a block; NULL if there is no memory. */
static inline const int32_t *grid_places(Run *run, int64_t size, int parts, const double *lengths) {
    float *found = (float *)arena_alloc(run, size * (int64_t)sizeof *found);
    int32_t *to = found ? (int32_t *)arena_alloc(run, (size + BLOCK) * (int64_t)sizeof *to) : 0;
    if (!to)
        return 0;
    stretch(size, parts, lengths, found);
    for (int64_t k = 0; k < size + BLOCK; k++)
        to[k] = (int32_t)(MIN(MAX(found[MIN(k, size - 1)], -FURTHEST), FURTHEST) * 65536.0F);
    return to;
}

/* Make the distortion part of a job, so that the image is resampled once together with the warps after it; labels are
   distorted at once. Anything pending before it is resampled first. */
static inline int64_t bend(Run *run, const Step *step, const double *drawn) {
    const double *a = step->arguments + DRAW_ARGUMENTS;
    Job *job = &run->merging->job;
    int64_t channels = run->view.channels, parts = (int64_t)a[3];
    Warp still = {.matrix = {{1, 0, 0, 0, 1, 0, 0, 0, 1}}, .border = (int64_t)a[0], .fill = (int64_t)a[1]};
    TRY(run->merging->collecting ? flush_merged(run, step, &still) : DONE);
    if (run->program->labels)
        return distort(run, step, drawn);
    if (channels != 1 && channels != COLOURS)
        return REFUSED;
    TRY(materialise_upright(run));
    still.height = run->view.rows, still.width = run->view.columns;
    Warped *w = merged(run);
    *w = new_warped(&run->view, &still);
    w->bent = 1;
    job->bends = step->effect == OP_BENDS_LENS, job->lens = job->bends ? drawn[0] : 0;
    if (job->bends || !run->sample->target)
        return DONE;
    job->across_grid = grid_places(run, still.width, (int)parts, drawn);
    job->down_grid = job->across_grid ? grid_places(run, still.height, (int)parts, drawn + parts + 1) : 0;
    return job->down_grid ? DONE : run->sample->answer;
}
