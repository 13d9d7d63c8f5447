/* Plans: samples carried out by what their recipe was compiled to, draws and all, without Python between their steps.

   compiler/native_plan says which recipes that is, and the steps themselves define what comes out: the law in
   tests/laws/test_native_plan.py holds every sample to them, bit for bit. */

#include "draws.h"
#include "resized.h"

/* Effects. */
enum {
    CUTS = 0,         /* keeps the window that was drawn */
    TURNS,            /* drawn: a number of bits: 1 transposes, then 2 turns rows and 4 columns round */
    RESIZES,          /* to height, width, by an interpolation */
    CUTS_AND_RESIZES, /* the window; by another interpolation where it shrinks */
};

EXPORT int32_t JOIN(sink, ISA)(const int64_t *, int64_t, int64_t, int64_t, int32_t, const float *, const float *, void *,
                               int32_t, int64_t, int64_t, int64_t, int64_t);

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
