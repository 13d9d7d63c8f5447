/* Applies pending tables of levels, and provides images in writable memory. */

#pragma once

#include "view.h"

static inline int64_t ensure_pixels(Run *run); /* see layers.h */
static inline int64_t ensure_upright(Run *run);

/* The pointer in an argument. */
static inline void *pointer_from(double address) { return (void *)(uintptr_t)address; } /* below 2^53, as all addresses are */

/* Whether the image is in scratch memory, which may be overwritten. */
static inline int in_scratch(const Run *run) {
    uintptr_t at = (uintptr_t)run->view.at, scratch = (uintptr_t)run->program->scratch;
    return scratch <= at && at < scratch + (uintptr_t)run->program->workspace;
}

/* Apply pending tables, for which a lazy image is computed. */
static inline int64_t materialise(Run *run) {
    View *v = &run->view;
    if (!run->tabled)
        return DONE;
    TRY(ensure_pixels(run));
    Window of = visible_rect(v);
    int64_t rows = of.bottom - of.top, length = (of.right - of.left) * v->channels, step = v->step;
    const uint8_t *from = v->at + (of.top - v->top) * v->step + (of.left - v->left) * v->channels;
    uint8_t *to = (uint8_t *)v->at + (from - v->at);
    if (!in_scratch(run)) {
        to = is_turned(v) ? arena_alloc(run, rows * length) : alloc_image(run, rows, of.right - of.left, BEHIND_STEPS);
        CHECK_ALLOC(to);
        v->at = to, v->step = length, v->top = of.top, v->left = of.left;
    }
    if (step == length && v->step == length)
        length *= rows, rows = 1;
    for (int64_t k = 0; k < rows; k++)
        look_up(from + k * step, length, v->channels, (const uint8_t(*)[LEVELS])run->levels, run->alike,
                to + k * v->step);
    run->tabled = 0;
    return DONE;
}

/* Make the image contiguous: no gaps between pixels or rows. */
static inline int64_t contiguous_image(Run *run, const uint8_t **from) {
    View *v = &run->view;
    int64_t down, across, step = v->columns * v->channels;
    TRY(materialise(run));
    TRY(ensure_upright(run));
    const uint8_t *rows = first_pixel(v, &down, &across); /* `down` is not `v->step` if the image is upside down */
    *from = rows;
    if (down == step)
        return DONE;
    uint8_t *to = arena_alloc(run, v->rows * step);
    CHECK_ALLOC(to);
    for (int64_t y = 0; y < v->rows; y++)
        memcpy(to + y * step, rows + y * down, (size_t)step);
    *v = whole_image(to, v->rows, v->columns, step, v->channels);
    *from = to;
    return DONE;
}

/* The present pixels, memory for the new ones, and a workspace. */
typedef struct {
    const uint8_t *from;
    uint8_t *to;
    void *workspace;
} Buffers;

/* Allocate memory for an image that replaces this one, and `workspace` bytes. */
static inline int64_t replacement_buffers(Run *run, Buffers *b, int64_t workspace) {
    View *v = &run->view;
    TRY(contiguous_image(run, &b->from));
    CHECK_ALLOC(b->to = alloc_image(run, v->rows, v->columns, LAST_STEP));
    *v = whole_image(b->to, v->rows, v->columns, v->columns * v->channels, v->channels);
    CHECK_ALLOC(b->workspace = arena_alloc(run, workspace));
    return DONE;
}

/* The same without a workspace; in place if the image is in scratch memory. */
static inline int64_t inplace_buffers(Run *run, Buffers *b) {
    TRY(contiguous_image(run, &b->from));
    b->to = (uint8_t *)run->view.at + (b->from - run->view.at);
    return in_scratch(run) ? DONE : replacement_buffers(run, b, 0);
}

/* Make the image writable. */
static inline int64_t writable_image(Run *run, uint8_t **to) {
    Buffers b;
    TRY(inplace_buffers(run, &b));
    if (b.from != b.to)
        memcpy(b.to, b.from, (size_t)(run->view.rows * run->view.columns * run->view.channels));
    *to = b.to;
    return DONE;
}
