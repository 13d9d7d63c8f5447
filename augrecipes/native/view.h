/* An image on its way through a program: where its pixels lie, cut and turned without a copy; or what they are to be made
   of, so that what is cut off is never made (see layers.h). */

#pragma once

#include <string.h>

#include "look_up.h"
#include "kernels.h"
#include "layout.h"

enum { PIXELS = 0, RESIZED, PADDED }; /* an image that is there; or one that is to be made of another */
enum { MOST_LAYERS = 4 };
enum { LAST_STEP = 1, BEHIND_STEPS };

/* An image on its way: rows x columns of pixels of another one, turned or not. */
typedef struct {
    const uint8_t *at; /* of that one: its pixel at row `top`, column `left` */
    int64_t step, top, left;
    int64_t y, x;                    /* of the first pixel, in that one */
    int64_t down[2], across[2];      /* how far on the next row begins there, and the next pixel: rows, columns */
    int64_t rows, columns, channels; /* of this one */
    int64_t kind, layer;             /* unless it is PIXELS: which of the run's layers that one is to be made of */
    int64_t tall, wide;              /* of all of that one */
    int64_t mode;                    /* RESIZED: interpolation. PADDED: border */
    int64_t above, before;           /* PADDED: rows and columns of border before the image */
    uint32_t fill;                   /* of a constant border */
} View;

/* A sample on its way: its image, what that is to be made of, the tables that its levels are still to be looked up in,
   one for each channel, and memory that is not taken yet. */
typedef struct {
    const Program *program;
    Sample *sample;
    View view, layers[MOST_LAYERS];
    int64_t used;
    int named, deep, reduces; /* reduces: an image that is not decoded yet may be decoded smaller, or has been */
    struct Merging *merging; /* see merged.h */
    int64_t resume_after, stopped; /* the step that it goes on behind, and the one that it stopped at; -1: none */
    uint8_t *place;   /* of the result, where an image may be made at once; 0: nowhere, or there is one already */
    int last;         /* whether this is the last step, or what comes behind it: LAST_STEP, BEHIND_STEPS */
    int64_t timed, since; /* the place among the program's `spent` to which time belongs, or -1, and from when on */
    int tabled, alike; /* whether there are tables, and whether they are one */
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

/* Rows from the first to behind the last, and columns. */
typedef struct {
    int64_t top, left, bottom, right;
} Window;

/* What a view shows of the other image. */
static inline Window visible_rect(const View *v) {
    int64_t y = v->y + (v->rows - 1) * v->down[0] + (v->columns - 1) * v->across[0];
    int64_t x = v->x + (v->rows - 1) * v->down[1] + (v->columns - 1) * v->across[1];
    return (Window){MIN(v->y, y), MIN(v->x, x), MAX(v->y, y) + 1, MAX(v->x, x) + 1};
}

/* Whether rows or columns lie otherwise than in the other image. */
static inline int is_turned(const View *v) { return v->down[0] != 1 || v->across[1] != 1; }

/* The same pixels in the order of the other image. */
static inline View upright_view(View v) {
    const Window shown = visible_rect(&v);
    v.y = shown.top, v.x = shown.left, v.rows = shown.bottom - shown.top, v.columns = shown.right - shown.left;
    v.down[0] = v.across[1] = 1, v.down[1] = v.across[0] = 0;
    return v;
}

/* Its first pixel, and its steps from row to row and from pixel to pixel, in bytes; its tables are another matter. */
static inline const uint8_t *first_pixel(const View *v, int64_t *down, int64_t *across) {
    *down = v->down[0] * v->step + v->down[1] * v->channels;
    *across = v->across[0] * v->step + v->across[1] * v->channels;
    return v->at + (v->y - v->top) * v->step + (v->x - v->left) * v->channels;
}

/* Memory for so many bytes; 0 where there is not enough: the answer then says how much would be. */
static inline uint8_t *arena_alloc(Run *run, int64_t bytes) {
    int64_t from = run->used;
    run->used += (bytes + 63) / 64 * 64;
    if (run->used > run->program->workspace) {
        run->sample->answer = 2 * run->used;
        return 0;
    }
    return run->program->scratch + from;
}

/* Goes on behind memory that there is. */
#define CHECK_ALLOC(memory) TRY((memory) ? DONE : run->sample->answer)

/* Memory for an image: the place of the result, as late as `when`, where its pixels lie there as they are made. */
static inline uint8_t *alloc_image(Run *run, int64_t rows, int64_t columns, int when) {
    const Sample *s = run->sample;
    uint8_t *place = run->place;
    if (!place || run->last < when || rows != s->height || columns != s->width)
        return arena_alloc(run, rows * columns * run->program->channels);
    run->place = 0;
    return place;
}
