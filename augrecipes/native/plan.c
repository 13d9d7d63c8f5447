/* Plans: samples carried out by what their recipe was compiled to, draws and all, without Python between their steps.

   compiler/native_plan says which recipes that is, and the steps themselves define what comes out: the law in
   tests/laws/test_native_plan.py holds every sample to them, bit for bit. */

#include <string.h>

#include "draws.h"
#include "windows.h"

/* Effects. */
enum {
    CUTS = 0,         /* keeps the window that was drawn */
    TURNS,            /* drawn: a number of bits: 1 transposes, then 2 turns rows and 4 columns round */
    RESIZES,          /* to height, width, by an interpolation */
    CUTS_AND_RESIZES, /* the window; by another interpolation where it shrinks */
};

enum { NEAREST = 0, LINEAR = 1, AREA = 3 }; /* as OpenCV numbers them */
enum { BLOCKS = 16 };                      /* the most pixels each way that `blocks` takes together */

EXPORT int32_t JOIN(resize, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int32_t, int64_t, int64_t, uint8_t *, int64_t,
                                 int64_t, int64_t, int64_t, int64_t);
EXPORT int32_t JOIN(blocks, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int32_t, int64_t, int64_t, uint8_t *, int64_t,
                                 int64_t, int64_t, int64_t, int64_t);
EXPORT int32_t JOIN(shrink, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int32_t, int64_t, int64_t, uint8_t *, int64_t,
                                 int64_t, int64_t, int64_t, int64_t);
EXPORT int32_t JOIN(nearest, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int32_t, int64_t, int64_t, uint8_t *, int64_t,
                                  int64_t, int64_t, int64_t, int64_t);
EXPORT int32_t JOIN(sink, ISA)(const int64_t *, int64_t, int64_t, int64_t, int32_t, const float *, const float *, void *,
                               int32_t, int64_t, int64_t, int64_t, int64_t);

/* A picture on its way: rows x columns of pixels of another one, turned or not. */
typedef struct {
    const uint8_t *at; /* of that one: its pixel at row `top`, column `left` */
    int64_t step, top, left;
    int64_t y, x;                    /* of the first pixel, in that one */
    int64_t down[2], across[2];      /* how far on the next row begins there, and the next pixel: rows, columns */
    int64_t rows, columns, channels; /* of this one */
} View;

/* A sample on its way: its picture, and memory that is not taken yet. */
typedef struct {
    const Plan *plan;
    Sample *sample;
    View view;
    int64_t used;
    int named;
} Run;

static View whole_picture(const uint8_t *at, int64_t rows, int64_t columns, int64_t step, int64_t channels) {
    return (View){.at = at, .step = step, .down = {1, 0}, .across = {0, 1}, .rows = rows, .columns = columns,
                  .channels = channels};
}

static void cut(View *v, int64_t x_min, int64_t y_min, int64_t x_max, int64_t y_max) {
    v->y += y_min * v->down[0] + x_min * v->across[0];
    v->x += y_min * v->down[1] + x_min * v->across[1];
    v->rows = y_max - y_min, v->columns = x_max - x_min;
}

static void turn_round(int64_t count, int64_t *steps, View *v) {
    for (int k = 0; k < 2; k++) {
        *(k ? &v->x : &v->y) += (count - 1) * steps[k];
        steps[k] = -steps[k];
    }
}

static void turn(View *v, int64_t how) {
    if (how & 1) {
        View was = *v;
        memcpy(v->down, was.across, sizeof v->down), memcpy(v->across, was.down, sizeof v->across);
        v->rows = was.columns, v->columns = was.rows;
    }
    if (how & 2)
        turn_round(v->rows, v->down, v);
    if (how & 4)
        turn_round(v->columns, v->across, v);
}

/* Whether pixels are only to be named, not read: then these are those that the sample reads, if it is the first time. */
static int only_named(Run *run) {
    const View *v = &run->view;
    int64_t *w = run->sample->window;
    if (run->sample->target)
        return 0;
    if (!run->named) {
        int64_t y = v->y + (v->rows - 1) * v->down[0] + (v->columns - 1) * v->across[0];
        int64_t x = v->x + (v->rows - 1) * v->down[1] + (v->columns - 1) * v->across[1];
        w[0] = MIN(v->y, y), w[1] = MIN(v->x, x), w[2] = MAX(v->y, y) + 1, w[3] = MAX(v->x, x) + 1;
        run->named = 1;
    }
    return 1;
}

/* Its first pixel, and its steps from row to row and from pixel to pixel, in bytes. */
static const uint8_t *placed(const View *v, int64_t *down, int64_t *across) {
    *down = v->down[0] * v->step + v->down[1] * v->channels;
    *across = v->across[0] * v->step + v->across[1] * v->channels;
    return v->at + (v->y - v->top) * v->step + (v->x - v->left) * v->channels;
}

/* Memory for so many bytes; 0 where there is not enough: the answer then says how much would be. */
static uint8_t *taken(Run *run, int64_t bytes) {
    int64_t from = run->used;
    run->used += (bytes + 63) / 64 * 64;
    if (run->used > run->plan->room) {
        run->sample->answer = 2 * run->used;
        return 0;
    }
    return run->plan->scratch + from;
}

/* The picture with its pixels side by side, row below row. */
static int64_t upright(Run *run) {
    View *v = &run->view;
    int64_t down, across;
    const uint8_t *from = placed(v, &down, &across);
    if (across == v->channels && down > 0)
        return DONE;
    int64_t step = v->columns * v->channels;
    uint8_t *to = taken(run, v->rows * step);
    if (!to)
        return run->sample->answer;
    for (int64_t y = 0; y < v->rows; y++, from += down)
        for (int64_t x = 0; x < v->columns; x++)
            for (int64_t c = 0; c < v->channels; c++)
                to[y * step + x * v->channels + c] = from[x * across + c];
    *v = whole_picture(to, v->rows, v->columns, step, v->channels);
    return DONE;
}

/* The picture of another size. */
static int64_t resize(Run *run, int64_t height, int64_t width, int64_t interpolation) {
    View *v = &run->view;
    if (height == v->rows && width == v->columns)
        return DONE;
    if (height < 1 || width < 1 || height > LONGEST || width > LONGEST || height * width > run->plan->most)
        return REFUSED;
    if (only_named(run)) {
        *v = whole_picture(0, height, width, 0, v->channels);
        return DONE;
    }
    int64_t step = width * v->channels, unused;
    int64_t answer = upright(run);
    if (answer != DONE)
        return answer;
    uint8_t *to = taken(run, height * step);
    if (!to)
        return run->sample->answer;
    const uint8_t *from = placed(v, &step, &unused);
    double down = 1.0 / ((double)height / (double)v->rows), across = 1.0 / ((double)width / (double)v->columns);
    int whole = down == floor(down) && across == floor(across);
    int32_t (*kernel)(const uint8_t *, int64_t, int64_t, int64_t, int32_t, int64_t, int64_t, uint8_t *, int64_t, int64_t,
                      int64_t, int64_t, int64_t) = 0;
    if (interpolation == NEAREST)
        kernel = JOIN(nearest, ISA);
    else if (interpolation == LINEAR)
        kernel = down == 2 && across == 2 ? JOIN(blocks, ISA) : JOIN(resize, ISA);
    else if (interpolation == AREA && down >= 1 && across >= 1 && !(whole && MAX(down, across) > BLOCKS))
        kernel = whole ? JOIN(blocks, ISA) : JOIN(shrink, ISA);
    if (!kernel)
        return REFUSED;
    answer = kernel(from, v->rows, v->columns, step, (int32_t)v->channels, height, width, to, 0, 0, height, width,
                    width * v->channels);
    *v = whole_picture(to, height, width, width * v->channels, v->channels);
    return answer;
}

/* Do what was drawn. */
static int64_t carry_out(Run *run, const Step *step, const double *drawn) {
    View *v = &run->view;
    const double *a = step->arguments + EFFECT;
    if (step->effect == CUTS || step->effect == CUTS_AND_RESIZES) {
        if (!(0 <= drawn[0] && drawn[0] < drawn[2] && drawn[2] <= (double)v->columns && 0 <= drawn[1] &&
              drawn[1] < drawn[3] && drawn[3] <= (double)v->rows))
            return REFUSED;
        cut(v, (int64_t)drawn[0], (int64_t)drawn[1], (int64_t)drawn[2], (int64_t)drawn[3]);
    }
    switch (step->effect) {
    case CUTS:
        return DONE;
    case TURNS:
        turn(v, (int64_t)drawn[0]);
        return DONE;
    case RESIZES:
        return resize(run, (int64_t)a[0], (int64_t)a[1], (int64_t)a[2]);
    case CUTS_AND_RESIZES: {
        int shrinks = (double)v->rows > a[0] || (double)v->columns > a[1];
        return resize(run, (int64_t)a[0], (int64_t)a[1], (int64_t)a[shrinks ? 3 : 2]);
    }
    default:
        return REFUSED;
    }
}

/* The result, into its place. */
static int64_t finish(Run *run) {
    const Plan *p = run->plan;
    Sample *s = run->sample;
    s->height = run->view.rows, s->width = run->view.columns;
    if (only_named(run))
        return DONE;
    int64_t place[3];
    place[0] = (int64_t)(intptr_t)placed(&run->view, &place[1], &place[2]);
    return JOIN(sink, ISA)(place, 1, s->height, s->width, (int32_t)p->channels, p->scale, p->shift, s->target,
                           (int32_t)p->type, 0, p->down, p->across, p->apart);
}

static int64_t run_sample(const Plan *p, Sample *s) {
    uint64_t epoch = mixed(GOLDEN, p->epoch), of_index = mixed(epoch, s->index);
    uint64_t own = mixed(of_index, s->tile), shared = mixed(of_index, 0);
    Run run = {.plan = p, .sample = s};
    run.view = whole_picture(s->at, s->rows, s->columns, s->step, p->channels);
    run.view.top = s->top, run.view.left = s->left;
    for (int64_t k = 0; k < p->count; k++) {
        const Step *step = p->steps + k;
        Drawing d = {stream_at(finalised(step->hash ^ (step->shared ? shared : own))),
                     philox_at(p->seed, step->label, step->shared ? 0 : s->tile, p->epoch, s->index), run.view.rows,
                     run.view.columns};
        double drawn[DRAWN];
        if (step->p < 1 && !(step->p > 0 && unit(&d.stream) < step->p))
            continue;
        if (!draw(step->draw, &d, step->arguments, drawn))
            return REFUSED;
        int64_t answer = carry_out(&run, step, drawn);
        if (answer != DONE)
            return answer;
    }
    return finish(&run);
}

/* Samples one after another; each says for itself how it went. */
KERNEL(plan)(const Plan *plan, Sample *samples, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        samples[k].answer = run_sample(plan, samples + k);
    return DONE;
}

/* What a step draws in the samples, DRAWN numbers for each, in pictures of their rows and columns; nothing for those in
   which it does not act, whose answer is IDLE. */
KERNEL(plan_draws)(const Plan *plan, Sample *samples, int64_t count, double *drawn) {
    const Step *step = plan->steps;
    for (int64_t k = 0; k < count; k++) {
        Sample *s = samples + k;
        uint64_t tile = step->shared ? 0 : s->tile;
        uint64_t hash = mixed(mixed(mixed(GOLDEN, plan->epoch), s->index), tile);
        Drawing d = {stream_at(finalised(step->hash ^ hash)),
                     philox_at(plan->seed, step->label, tile, plan->epoch, s->index), s->rows, s->columns};
        if (step->p < 1 && !(step->p > 0 && unit(&d.stream) < step->p))
            s->answer = IDLE;
        else
            s->answer = draw(step->draw, &d, step->arguments, drawn + k * DRAWN) ? DONE : REFUSED;
    }
    return DONE;
}
