/* Runs programs: samples of a compiled recipe, with all draws, without Python between their steps.

   compiler/lowering decides which recipes can be compiled, and the steps themselves define the result:
   tests/laws/test_native_plan.py compares every sample with them, bit for bit. */

#include "distortion.h"
#include "draws.h"
#include "moves.h"
#include "points.h"
#include "perspective.h"

EXPORT int32_t JOIN(sink, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int64_t, int32_t, const float *,
                                   const float *, void *, int32_t, int64_t, int64_t, int64_t, const Ahead *);

int64_t ar_nanoseconds(void);

/* Start charging elapsed time to slot `place` of `spent` (-1: none). */
static void charge_time(Run *run, int64_t place) {
    int64_t *spent = run->program->spent;
    if (!spent)
        return;
    int64_t now = ar_nanoseconds();
    if (run->timed >= 0)
        spent[run->timed] += now - run->since;
    run->timed = place, run->since = now;
}

/* Whether a window is inside an image. */
static int is_inside(const double *window, int64_t rows, int64_t columns) {
    return 0 <= window[0] && window[0] < window[2] && window[2] <= (double)columns && 0 <= window[1] &&
           window[1] < window[3] && window[3] <= (double)rows;
}

/* Rows and columns times a factor, rounded or truncated; false if they are too many. */
static int scaled_size(double factor, int64_t rows, int64_t columns, int rounds, int64_t *height, int64_t *width) {
    double down = (double)rows * factor, across = (double)columns * factor;
    if (!(fabs(down) <= LONGEST && fabs(across) <= LONGEST))
        return 0;
    *height = (int64_t)(rounds ? MAX(1, rint(down)) : down), *width = (int64_t)(rounds ? MAX(1, rint(across)) : across);
    return 1;
}

/* Merge a step, as drawn, into the pending geometry. */
static int64_t merge(Run *run, const Step *step, const double *drawn) {
    const double *a = step->arguments + DRAW_ARGUMENTS;
    int64_t rows, columns;
    Warp warp = {.border = -1, .labels = run->program->labels};
    TRY(run->merging->collecting ? DONE : materialise_upright(run));
    visible_size(run, &rows, &columns);
    switch (step->effect - OP_MERGES) {
    case OP_WARPS_PERSPECTIVE: return merge_tilt(run, step, drawn, a);
    case OP_BENDS_GRID - OP_MERGES:
    case OP_BENDS_LENS - OP_MERGES: return bend(run, step, drawn);
    case OP_CROPS:
        if (!is_inside(drawn, rows, columns))
            return REFUSED;
        append_crop(merged(run), (int64_t)drawn[0], (int64_t)drawn[1], (int64_t)drawn[2], (int64_t)drawn[3]);
        return DONE;
    case OP_FLIPS: append_dihedral(merged(run), (int64_t)drawn[0]); return DONE;
    case OP_RESIZES:
        warp.matrix = scaling((double)columns / a[1], (double)rows / a[0], 0, 0);
        break;
    case OP_SCALES:
        if (!scaled_size(drawn[0], rows, columns, a[2] != 0, &warp.height, &warp.width))
            return REFUSED;
        warp.matrix = scaling((double)columns / (double)warp.width, (double)rows / (double)warp.height, 0, 0);
        return is_identity_warp(&warp, rows, columns) ? DONE : merge_warp(run, step, &warp);
    case OP_CROPS_AND_RESIZES:
        warp.matrix = scaling((drawn[2] - drawn[0]) / a[1], (drawn[3] - drawn[1]) / a[0], drawn[0], drawn[1]);
        break;
    case OP_WARPS: {
        const Matrix forth = {{drawn[0], drawn[1], drawn[2], drawn[3], drawn[4], drawn[5], 0, 0, 1}};
        warp.matrix = inverse(&forth);
        warp.height = (int64_t)drawn[6], warp.width = (int64_t)drawn[7];
        warp.border = (int64_t)a[0], warp.fill = (int64_t)a[1];
        return is_identity_warp(&warp, rows, columns) ? DONE : merge_warp(run, step, &warp);
    }
    default: return REFUSED;
    }
    warp.height = (int64_t)a[0], warp.width = (int64_t)a[1];
    return is_identity_warp(&warp, rows, columns) ? DONE : merge_warp(run, step, &warp);
}

/* Apply a step as drawn. */
static int64_t apply_effect(Run *run, const Step *step, const double *drawn) {
    View *v = &run->view;
    const double *a = step->arguments + DRAW_ARGUMENTS;
    switch (step->effect) {
    case OP_MERGED_ENDS: return end_merging(run, a);
    case OP_JITTERS: return jitter(run, drawn);
    case OP_ADJUSTS: return adjust(run, drawn);
    case OP_MIXES: return mix(run, drawn);
    case OP_SHIFTS_HUES: return tint(run, drawn, turn_of(drawn[0]));
    case OP_MATERIALISES: return make_job(run);
    default: break;
    }
    if (OP_MERGES <= step->effect && step->effect < OP_MERGED_ENDS)
        return merge(run, step, drawn);
    TRY(make_job(run)); /* this step cannot be part of a job */
    int64_t rows = v->rows, columns = v->columns;
    uint32_t fill = (uint32_t)a[MIN(v->channels, MOST_CHANNELS)];
    int by_matrix = step->effect == OP_WARPS || step->effect == OP_WARPS_PERSPECTIVE;
    if (by_matrix && v->channels == 2 && !run->program->labels)
        return REFUSED; /* OpenCV warps pixels of two bytes by older code with other bits */
    if (step->effect == OP_PADS_AND_CROPS)
        TRY(pad(run, drawn + 4, (int64_t)a[0], fill));
    if (step->effect == OP_CROPS || step->effect == OP_CROPS_AND_RESIZES || step->effect == OP_PADS_AND_CROPS) {
        if (!is_inside(drawn, v->rows, v->columns))
            return REFUSED;
        cut(v, (int64_t)drawn[0], (int64_t)drawn[1], (int64_t)drawn[2], (int64_t)drawn[3]);
    }
    switch (step->effect) {
    case OP_CROPS:
    case OP_KEEPS:
    case OP_PADS_AND_CROPS: return DONE;
    case OP_FLIPS: apply_dihedral(v, (int64_t)drawn[0]); return DONE;
    case OP_RESIZES:
    case OP_CROPS_AND_RESIZES: {
        double factor = step->effect == OP_RESIZES && step->draw != DRAW_NOTHING ? drawn[0] : 1;
        rows = MAX((int64_t)(a[0] * factor), 1), columns = MAX((int64_t)(a[1] * factor), 1);
        return resize(run, rows, columns, (int64_t)a[v->rows > rows || v->columns > columns ? 3 : 2]);
    }
    case OP_SCALES:
        if (!scaled_size(drawn[0], v->rows, v->columns, a[2] != 0, &rows, &columns))
            return REFUSED;
        return resize(run, rows, columns, (int64_t)a[drawn[0] < 1]);
    case OP_PADS: return pad(run, drawn, (int64_t)a[0], fill);
    case OP_WARPS:
        TRY(materialise(run));
        return warp_exactly(run, drawn, a);
    case OP_WARPS_PERSPECTIVE: return tilt(run, drawn, a);
    case OP_DISTORTS_GRID:
    case OP_DISTORTS_LENS: return distort(run, step, drawn);
    default: return change(run, step, drawn);
    }
}

static inline void widen(const uint8_t *restrict from, int64_t across, int64_t count, int64_t *restrict to) {
    for (int64_t x = 0; x < count; x++)
        to[x] = from[x * across];
}

/* Whether the output is unscaled levels with contiguous channels. */
static int is_raw_output(const Program *p) {
    int answer = p->type == UINT8 && p->apart == 1 && p->across == p->channels;
    for (int64_t c = 0; c < p->channels; c++)
        answer &= p->scale[c] == 1 && p->shift[c] == 0;
    return answer;
}

/* The place of the result, if an image can be made there directly; 0 otherwise. No image may be read there. */
static uint8_t *inplace_target(const Program *p, const Sample *s) {
    return is_raw_output(p) && p->down == s->width * p->channels ? s->target : 0;
}

/* Write the result into its place, and prefetch the pixels of the next sample meanwhile. */
static int64_t finish(Run *run, Ahead *ahead) {
    const Program *p = run->program;
    Sample *s = run->sample;
    int64_t height = s->height, width = s->width;
    visible_size(run, &s->height, &s->width);
    if (s->target && (s->height != height || s->width != width))
        return REFUSED; /* another size than that of the target */
    if (dry_run(run))
        return DONE;
    if (run->merging->has_job) {
        run->place = 0; /* intermediate pixels are read while the result is written */
        return write_job(run);
    }
    if (run->view.kind != PIXELS || run->tabled || !run->view.down[0] || p->type == INT64) {
        prefetch_row(ahead, 0, 1);
        ahead->rows = 0;
    }
    const int is_raw = is_raw_output(p);
    int64_t down, across;
    TRY(materialise(run));
    TRY(is_raw || run->view.down[0] ? ensure_pixels(run) : ensure_upright(run)); /* columns are slow to read */
    const uint8_t *from = first_pixel(&run->view, &down, &across);
    if (is_raw && from == s->target && down == p->down && across == p->channels)
        return DONE; /* it was made in place */
    if (p->type == INT64) {
        for (int64_t y = 0; y < s->height; y++) {
            int64_t *to = (int64_t *)s->target + y * p->down;
            if (across == 1)
                widen(from + y * down, 1, s->width, to);
            else
                widen(from + y * down, across, s->width, to);
        }
        return DONE;
    }
    if (is_raw && across != p->channels)
        return JOIN(moved, ISA)(from, down, across, s->height, s->width, p->channels, s->target, p->down);
    if (!is_raw)
        return JOIN(sink, ISA)(from, down, across, s->height, s->width, (int32_t)p->channels, p->scale, p->shift, s->target,
                                   (int32_t)p->type, p->down, p->across, p->apart, ahead);
    for (int64_t y = 0; y < s->height; y++) {
        prefetch_row(ahead, y, s->height);
        memcpy((uint8_t *)s->target + y * p->down, from + y * down, (size_t)(s->width * p->channels));
    }
    return DONE;
}

/* Other answers of samples: in program_draws, that the step does not act; of the kernel program, that
   samples differ. */
enum { IDLE = 1, UNLIKE = 1 };
enum { STOPPED = -2 }; /* at a step that Python runs */

/* The index of the next step, after the whole group if this one opens it. */
static int64_t next_index(const Program *p, int64_t k) {
    const Step *step = p->steps + k;
    return k + 1 + (step->effect == OP_GROUPS ? (int64_t)step->arguments[DRAW_ARGUMENTS] : 0);
}

static int64_t run_steps(Run *run, int64_t from, int64_t to, int last);

/* Convert a window, and the padding before it, from cells to pixels. */
static void cells_to_pixels(const Step *step, double *drawn) {
    int count = step->effect == OP_CROPS ? 4 : step->effect == OP_PADS_AND_CROPS ? 8 : 0;
    for (int k = 0; k < count; k++)
        drawn[k] *= (double)step->cell;
}

/* The pixels that a sample reads, for prefetching: rows of a large image are pages apart, and address translation is
   slow. Empty if they are too many for the cache. */
static Ahead ahead_of(const Program *p, const Sample *s) {
    const int64_t *w = s->window, from = (w[1] - s->left) * p->channels, to = (w[3] - s->left) * p->channels;
    if (!s->target || s->file || w[0] < s->top || w[2] <= w[0] || to <= from || (w[2] - w[0]) * (to - from) > NEAR / 4)
        return (Ahead){0};
    return (Ahead){s->at + (w[0] - s->top) * s->step + from, s->step, w[2] - w[0], to - from};
}

/* Run a step or a group; if it is `forced`, it acts without a first draw. A group's own time is that of its choice.
   `last`: no step follows. */
static int64_t run_step(Run *run, int64_t at, int forced, int last) {
    charge_time(run, at);
    const Program *p = run->program;
    const Sample *s = run->sample;
    const Step *step = p->steps + at;
    Drawing d = keyed_drawing(p, step, s);
    double drawn[DRAWN];
    visible_size(run, &d.rows, &d.columns);
    d.rows /= step->cell, d.columns /= step->cell;
    if (!forced && step->p < 1 && !(step->p > 0 && stream_unit(&d.stream) < step->p))
        return DONE;
    if (run->resume_after >= 0 && step->effect != OP_GROUPS) { /* done before the exit; gates and choices only need the key */
        run->resume_after = at == run->resume_after ? -1 : run->resume_after;
        return DONE;
    }
    if (step->effect == OP_EXITS) {
        run->stopped = at;
        return STOPPED;
    }
    if (!draw(step->draw, &d, step->arguments, drawn))
        return REFUSED;
    cells_to_pixels(step, drawn);
    if (step->effect != OP_GROUPS) {
        run->last = last;
        double *move = begin_move(run, step, at);
        int64_t done = apply_effect(run, step, drawn);
        if (move)
            end_move(run, step, drawn, move);
        if (done == REFUSED && (step->effect == OP_RESIZES || step->effect == OP_SCALES)) {
            run->stopped = at; /* no kernel makes this size: Python can resume with the present image */
            return STOPPED;
        }
        run->sample->changed |= step->effect != OP_KEEPS;
        return done;
    }
    const double *a = step->arguments + DRAW_ARGUMENTS;
    int64_t end = next_index(p, at), starts[MOST_CHILDREN], count = 0;
    if (a[1] == ALL_STEPS)
        return run_steps(run, at + 1, end, last);
    for (int64_t k = at + 1; k < end && count < MOST_CHILDREN; k = next_index(p, k))
        starts[count++] = k;
    for (int64_t k = 0, more = (int64_t)a[2]; k < more; k++) {
        TRY(drawn[k] < (double)count ? run_step(run, starts[(int64_t)drawn[k]], a[1] == ONE_STEP, last && k + 1 == more)
                                     : REFUSED);
        pass_step(run->sample);
    }
    return DONE;
}

/* Run steps in order. */
static int64_t run_steps(Run *run, int64_t from, int64_t to, int last) {
    for (int64_t k = from, next; k < to; k = next) {
        next = next_index(run->program, k);
        TRY(run_step(run, k, 0, last && next == to));
        pass_step(run->sample);
    }
    return DONE;
}

/* The pixels of a sample, decoded if they are in a file; NULL on failure. */
static const uint8_t *decoded_pixels(const Program *p, const Sample *s) {
    char message[MESSAGE_BYTES];
    if (!s->target || !s->file)
        return s->at;
    if (!p->decode || s->decoded > p->most_decoded || p->decode(s->file, s->file_window, p->memory, p->pixels, message))
        return NULL;
    return p->pixels + (intptr_t)s->at;
}

/* Run a sample, and prefetch the pixels of the next one, if any, meanwhile. */
static int64_t run_sample(Run *run, const Sample *next) {
    const Program *p = run->program;
    Sample *s = run->sample;
    charge_time(run, p->count + (s->target && s->file));
    const uint8_t *at = decoded_pixels(p, s);
    if (s->target && !at)
        return REFUSED;
    run->view = whole_image(at, s->rows, s->columns, s->step, p->channels);
    run->view.top = s->top, run->view.left = s->left;
    s->changed = 0;
    if (s->moves)
        s->moves[0] = s->moves[1] = 0;
    run->reduces = s->target ? s->reduce > 1 : s->reduce == 0;
    s->reduce = s->target ? s->reduce : 1;
    run->place = inplace_target(p, s);
    int64_t answer = run_steps(run, 0, p->count, LAST_STEP);
    if (answer != DONE && answer != STOPPED)
        return answer;
    if (s->target && run->stopped != s->stop)
        return REFUSED; /* the target was sized for another image */
    s->stop = run->stopped;
    charge_time(run, p->count);
    run->last = BEHIND_STEPS;
    Ahead ahead = {0};
    if (next && !run->merging->has_job)
        ahead = ahead_of(p, next);
    return finish(run, &ahead);
}

/* Run samples one after another; each has its own answer, and UNLIKE means that some failed or that their sizes
   differ. */
KERNEL(program)(const Program *program, Sample *samples, int64_t count) {
    Merging merging;
    int answer = DONE;
    for (int64_t k = 0; k < count; k++) {
        Sample *s = samples + k;
        Run run = {.program = program, .sample = s, .merging = &merging,
                   .resume_after = s->begin, .stopped = -1, .timed = -1};
        begin_merging(&merging);
        merging.flushed = merging.enlarged = 0;
        s->answer = run_sample(&run, k + 1 < count ? s + 1 : NULL);
        charge_time(&run, -1);
        if (s->answer != DONE || s->stop >= 0 || s->height != samples->height || s->width != samples->width)
            answer = UNLIKE;
    }
    return answer;
}

/* The draws of a step in samples, DRAWN numbers for each, for images of their rows and columns; none for samples in
   which it does not act, whose answer is IDLE. */
KERNEL(program_draws)(const Program *program, Sample *samples, int64_t count, double *drawn) {
    const Step *step = program->steps;
    for (int64_t k = 0; k < count; k++) {
        Sample *s = samples + k;
        Drawing d = keyed_drawing(program, step, s);
        if (step->p < 1 && !(step->p > 0 && stream_unit(&d.stream) < step->p))
            s->answer = IDLE;
        else
            s->answer = draw(step->draw, &d, step->arguments, drawn + k * DRAWN) ? DONE : REFUSED;
    }
    return DONE;
}
