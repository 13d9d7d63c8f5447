/* The image of a running program: a cropped, flipped or rotated view of pixels without a copy; or of a lazy image, so
   that no cropped pixel is ever computed (see layers.h). */

#pragma once

#include <string.h>

#include "look_up.h"
#include "kernels.h"
#include "layout.h"

enum { PIXELS = 0, RESIZED, PADDED }; /* pixels in memory; or a lazy image */
enum { MOST_LAYERS = 4 };
enum { LAST_STEP = 1, BEHIND_STEPS };

/* A view of rows x columns pixels of a base image, perhaps flipped or rotated. */
typedef struct {
    const uint8_t *at; /* the pixel of the base at row `top`, column `left` */
    int64_t step, top, left;
    int64_t y, x;                    /* the first pixel, in the base */
    int64_t down[2], across[2];      /* steps in the base to the next row, and to the next pixel: rows, columns */
    int64_t rows, columns, channels; /* of the view */
    int64_t kind, layer;             /* PIXELS, or the kind of lazy image, and the layer that it is made from */
    int64_t tall, wide;              /* the size of the base */
    int64_t mode;                    /* RESIZED: interpolation. PADDED: border */
    int64_t above, before;           /* PADDED: rows and columns of border before the image */
    uint32_t fill;                   /* of a constant border */
} View;

/* The state of a sample: its image, the layers of lazy images, pending tables of levels for each channel, and the use
   of scratch memory. */
typedef struct {
    const Program *program;
    Sample *sample;
    View view, layers[MOST_LAYERS];
    int64_t used;
    int named, deep, reduces; /* reduces: whether a file may be, or was, decoded smaller */
    struct Merging *merging; /* see merged.h */
    int64_t resume_after, stopped; /* the step after which it resumes, and the one at which it stopped; -1: none */
    uint8_t *place;   /* where the result may be made directly; 0: nowhere, or it is taken */
    int last;         /* whether this is the last step, or the output after it: LAST_STEP, BEHIND_STEPS */
    int64_t timed, since; /* the slot of the program's `spent` to which time is charged, or -1, and since when */
    int tabled, alike; /* whether tables are pending, and whether they are the same for all channels */
    uint8_t levels[MOST_CHANNELS][LEVELS];
} Run;

static inline View whole_image(const uint8_t *at, int64_t rows, int64_t columns, int64_t step, int64_t channels) {
    return (View){.at = at, .step = step, .down = {1, 0}, .across = {0, 1}, .rows = rows, .columns = columns,
                  .channels = channels};
}

static inline void cut(View *v, int64_t x_min, int64_t y_min, int64_t x_max, int64_t y_max) {
    v->y += y_min * v->down[0] + x_min * v->across[0];
    v->x += y_min * v->down[1] + x_min * v->across[1];
    v->rows = y_max - y_min, v->columns = x_max - x_min;
}

static inline void reverse_axis(int64_t count, int64_t *steps, View *v) {
    for (int k = 0; k < 2; k++) {
        *(k ? &v->x : &v->y) += (count - 1) * steps[k];
        steps[k] = -steps[k];
    }
}

static inline void apply_dihedral(View *v, int64_t dihedral_bits) {
    if (dihedral_bits & 1) {
        View was = *v;
        memcpy(v->down, was.across, sizeof v->down), memcpy(v->across, was.down, sizeof v->across);
        v->rows = was.columns, v->columns = was.rows;
    }
    if (dihedral_bits & 2)
        reverse_axis(v->rows, v->down, v);
    if (dihedral_bits & 4)
        reverse_axis(v->columns, v->across, v);
}

/* Rows and columns, ends exclusive. */
typedef struct {
    int64_t top, left, bottom, right;
} Window;

/* The part of the base that a view shows. */
static inline Window visible_rect(const View *v) {
    int64_t y = v->y + (v->rows - 1) * v->down[0] + (v->columns - 1) * v->across[0];
    int64_t x = v->x + (v->rows - 1) * v->down[1] + (v->columns - 1) * v->across[1];
    return (Window){MIN(v->y, y), MIN(v->x, x), MAX(v->y, y) + 1, MAX(v->x, x) + 1};
}

/* Whether a view is flipped or rotated. */
static inline int is_turned(const View *v) { return v->down[0] != 1 || v->across[1] != 1; }

/* The same part of the base, upright. */
static inline View upright_view(View v) {
    const Window shown = visible_rect(&v);
    v.y = shown.top, v.x = shown.left, v.rows = shown.bottom - shown.top, v.columns = shown.right - shown.left;
    v.down[0] = v.across[1] = 1, v.down[1] = v.across[0] = 0;
    return v;
}

/* The address of the first pixel, and the steps from row to row and from pixel to pixel, in bytes; without pending
   tables. */
static inline const uint8_t *first_pixel(const View *v, int64_t *down, int64_t *across) {
    *down = v->down[0] * v->step + v->down[1] * v->channels;
    *across = v->across[0] * v->step + v->across[1] * v->channels;
    return v->at + (v->y - v->top) * v->step + (v->x - v->left) * v->channels;
}

/* Allocate scratch memory; 0 if there is too little: the sample's answer then says how much it needs. */
static inline uint8_t *arena_alloc(Run *run, int64_t bytes) {
    int64_t from = run->used;
    run->used += (bytes + 63) / 64 * 64;
    if (run->used > run->program->workspace) {
        run->sample->answer = 2 * run->used;
        return 0;
    }
    return run->program->scratch + from;
}

/* Return from the function if an allocation failed. */
#define CHECK_ALLOC(memory) TRY((memory) ? DONE : run->sample->answer)

/* Allocate an image: the place of the result, from step `when` on, if the formats agree. */
static inline uint8_t *alloc_image(Run *run, int64_t rows, int64_t columns, int when) {
    const Sample *s = run->sample;
    uint8_t *place = run->place;
    if (!place || run->last < when || rows != s->height || columns != s->width)
        return arena_alloc(run, rows * columns * run->program->channels);
    run->place = 0;
    return place;
}
