/* Runs merged geometry (merged.h): as a resize, or as a job for the kernel `fused` with the following colour steps as
   its operations. A dry run only finds the window of a file to decode, and the scale of its decoder.

   `collecting`: steps are being merged; `has_job`: a job is pending, which the output writes, or which is run before
   a step that is not part of it. `flush_merged` resamples what has been merged, where the next warp cannot be.

   Bits: those of `fused` and of OpenCV's resizes.
   Law: tests/laws/test_native_merges.py, tests/laws/test_colours_behind_warps.py. */

#pragma once

#include "labels.h"

enum { BODY = 32 }; /* pixels that OpenCV converts from HSV to RGB at a time, with AVX2 */

EXPORT int32_t JOIN(fused, ISA)(const Job *);

/* The size of the image that the next step sees. */
static inline void visible_size(const Run *run, int64_t *rows, int64_t *columns) {
    const Merging *m = run->merging;
    const Warped *w = m->chain + m->warps;
    int pending = (m->collecting || m->has_job) && w->pending;
    *rows = pending ? w->height : m->collecting ? w->image.rows : run->view.rows;
    *columns = pending ? w->width : m->collecting ? w->image.columns : run->view.columns;
}

static inline Warped *merged(Run *run) {
    Merging *m = run->merging;
    if (!m->collecting) {
        m->collecting = 1, m->warps = 0;
        m->chain[0].pending = m->chain[0].betweens = m->chain[0].bent = 0;
        m->chain[0].image = run->view;
    }
    return m->chain + m->warps;
}

static inline void begin_merging(Merging *m) {
    m->warps = m->collecting = m->has_job = m->reads_part = 0, m->reduced = 0;
    m->job.count = m->job.bends = 0, m->job.across_grid = 0, m->job.lens = 0;
}

/* The destination of a job, and its format: fields of a Job with the same names. */
typedef struct {
    void *target;
    int64_t type, down, across, apart;
    const float *scale, *shift;
} Place;

/* Whether the image is padded with the same fill that the job uses outside. */
static inline int extends_border(const Run *run, const Warped *w) {
    const View *v = &run->view;
    const Merging *m = run->merging;
    uint32_t differs = (v->fill ^ (uint32_t)w->fill) & (v->channels == 1 ? 0xff : 0xffffff);
    return v->kind == PADDED && v->mode == BORDER_CONSTANT && w->border == BORDER_CONSTANT && !differs &&
           m->job.reduction == 1 && !m->reads_part && !m->reduced && v->rows <= INT16_MAX && v->columns <= INT16_MAX &&
           v->rows * v->columns * v->channels < INT32_MAX / 2; /* a job supports no more */
}

/* The image without its padding; `left` and `top`: its offset in the padded image. */
static inline int64_t without_border(Run *run, int64_t *left, int64_t *top) {
    const View padded = run->view;
    View inner = run->layers[padded.layer];
    int64_t x = padded.x - padded.before, y = padded.y - padded.above;
    int64_t x_min = MAX(x, 0), x_max = MIN(x + padded.columns, inner.columns);
    int64_t y_min = MAX(y, 0), y_max = MIN(y + padded.rows, inner.rows);
    if (x_min >= x_max || y_min >= y_max || x_min - x > MOST_BEFORE || y_min - y > MOST_BEFORE)
        return ensure_pixels(run);
    cut(&inner, x_min, y_min, x_max, y_max);
    *left = x_min - x, *top = y_min - y;
    run->view = inner;
    return ensure_upright(run);
}

/* Set the source and the matrix of a job whose image was decoded smaller. */
static inline void map_to_reduced(const Run *run, const Warped *w, Job *j) {
    const Sample *s = run->sample;
    const double part = 1.0 / (double)run->merging->reduced;
    Matrix matrix;
    const View base = upright_base(w, &matrix);
    const Matrix shift = {{1, 0, (double)(base.x - s->left), 0, 1, (double)(base.y - s->top), 0, 0, 1}};
    const Matrix smaller = scaling(part, part, 0, 0);
    matrix = product_of_matrices(&shift, &matrix), matrix = product_of_matrices(&smaller, &matrix);
    memcpy(j->matrix, matrix.cells, sizeof j->matrix);
    j->source = base.at, j->step = base.step, j->rows = s->tall, j->columns = s->wide;
    j->border = BORDER_REPLICATE; /* no pixel outside is shown, so none may be blended in */
}

/* Run the pending job with this geometry. */
static inline int64_t run_job(Run *run, const Warped *w, Place to) {
    const Program *p = run->program;
    Merging *m = run->merging;
    Matrix matrix;
    View base = upright_base(w, &matrix);
    int64_t down, across;
    Job *j = &m->job;
    j->left = j->top = 0;
    run->view = base;
    TRY(!w->bent && extends_border(run, w) ? without_border(run, &j->left, &j->top) : ensure_pixels(run));
    base = run->view;
    if (m->reads_part)
        cut_to_read(&base, &matrix, w);
    j->rows = base.rows, j->columns = base.columns;
    j->source = first_pixel(&base, &down, &across);
    j->step = base.step, j->channels = base.channels;
    memcpy(j->matrix, matrix.cells, sizeof j->matrix);
    j->border = w->border, j->fill = w->fill;
    if (m->reduced)
        map_to_reduced(run, w, j);
    j->height = w->height, j->width = w->width;
    j->target = to.target, j->type = to.type, j->down = to.down, j->across = to.across, j->apart = to.apart;
    for (int c = 0; c < COLOURS; c++)
        j->scale[c] = to.scale[c], j->shift[c] = to.shift[c];
    j->scratch = p->scratch + run->used, j->workspace = p->workspace - run->used;
    int64_t answer = JOIN(fused, ISA)(j);
    return answer > 0 ? run->used + answer + 64 : answer;
}

/* Write the pending job in the format of the output. */
static inline int64_t write_job(Run *run) {
    const Program *p = run->program;
    const Merging *m = run->merging;
    return run_job(run, m->chain + m->warps,
                         (Place){run->sample->target, p->type, p->down, p->across, p->apart, p->scale, p->shift});
}

/* Run the pending job with this geometry, as levels for the following steps. */
static inline int64_t make_levels(Run *run, const Warped *w) {
    static const float ones[COLOURS] = {1, 1, 1}, zeros[COLOURS] = {0, 0, 0};
    int64_t channels = run->program->channels, rows = w->height, columns = w->width, row = columns * channels;
    uint8_t *to = run->sample->target ? arena_alloc(run, rows * row) : 0;
    CHECK_ALLOC(to || !run->sample->target);
    const Place place = {to, UINT8, row, channels, 1, ones, zeros};
    int64_t answer = dry_run(run) ? DONE : run_job(run, w, place);
    run->view = whole_image(to, rows, columns, row, channels);
    begin_merging(run->merging);
    return answer;
}

static inline int64_t make_job(Run *run) {
    const Merging *m = run->merging;
    return m->has_job ? make_levels(run, m->chain + m->warps) : DONE;
}

/* Prepare a job, before its pixels are requested or it is run. */
static inline int64_t begin_job(Run *run, const Costs *c, const Warped *w, int reduces) {
    Merging *m = run->merging;
    const int undecoded = c->decoded > 0;
    m->has_job = 1;
    m->job.reduction = reduces ? reduction(&w->matrix) : 1;
    m->reads_part = undecoded && m->job.reduction == 1 && !w->bent;
    if (run->program->channels != 1 && run->program->channels != COLOURS)
        return REFUSED;
    if (m->reads_part && !run->sample->target) {
        Matrix matrix;
        run->view = upright_base(w, &matrix);
        cut_to_read(&run->view, &matrix, w);
    }
    dry_run(run);
    return DONE;
}

/* The end of the last complete square of k x k px in a part that ends at `end`. At `limit`, the end of the image, an
   incomplete one counts, since encoders complete it by repeating the edge. */
static inline int64_t last_square(int64_t wanted, int64_t end, int64_t limit, int64_t k) {
    return MIN((wanted + k - 1) / k * k, end == limit ? limit : end / k * k);
}

/* The window that a decoder must return at 1/k of its size; false if it would show cropped pixels, or if pixels
   outside are read. */
static inline int reduced_window(const Run *run, const Warped *w, int64_t k, Window *of) {
    Matrix matrix;
    const View base = upright_base(w, &matrix);
    double low[2], high[2];
    int64_t from[2], to[2], limits[2] = {base.columns, base.rows};
    if (w->image.kind != PIXELS || base.y % k || base.x % k)
        return 0;
    find_reach(&matrix, w->height, w->width, low, high);
    for (int i = 0; i < 2; i++) {
        if (!(low[i] >= 0 && high[i] <= (double)limits[i] - 1))
            return 0;
        /* between two pixels of the coarse grid a sample reads k px further */
        from[i] = MAX((int64_t)floor(low[i]) - 2 - k, 0), to[i] = (int64_t)ceil(high[i]) + 3 + k;
    }
    *of = (Window){base.y + from[1] / k * k, base.x + from[0] / k * k,
                   last_square(base.y + to[1], base.y + base.rows, run->sample->rows, k),
                   last_square(base.x + to[0], base.x + base.columns, run->sample->columns, k)};
    return of->bottom > of->top && of->right > of->left;
}

/* Warp an image that is decoded smaller; a dry run sets its window and factor. */
static inline int64_t job_of_reduced(Run *run, const Warped *w, int64_t k, Window part, int last) {
    Sample *s = run->sample;
    Merging *m = run->merging;
    m->has_job = 1, m->reads_part = 0, m->job.reduction = 1, m->reduced = k;
    run->view = w->image;
    if ((run->program->channels != 1 && run->program->channels != COLOURS) || (s->target && s->reduce != k))
        return REFUSED;
    if (!s->target && !run->named) {
        s->window[0] = part.top, s->window[1] = part.left, s->window[2] = part.bottom, s->window[3] = part.right;
        s->reduce = k, run->named = 1;
    }
    return last ? DONE : make_levels(run, w);
}

/* Resample by this geometry. last: whether the final job may be left to the output. */
static int64_t resample(Run *run, const Costs *c, const Warped *w, int reduces, int last) {
    Resized found;
    if (!w->pending) {
        run->view = w->image;
        return DONE;
    }
    reduces &= !w->bent;
    Window part;
    int64_t k = c->decoded > 0 && reduces && run->reduces ? reduction(&w->matrix) : 1;
    if (k > 1 && reduced_window(run, w, k, &part))
        return job_of_reduced(run, w, k, part, last);
    if (stepwise_is_cheaper(c, w)) {
        TRY(resample(run, c, w->earlier, reduces && !enlarges(&w->last.matrix), 0));
        const Warped alone = last_step(w, &run->view);
        Costs decoded = *c;
        decoded.decoded = 0;
        return resample(run, &decoded, &alone, 0, 0);
    }
    run->view = w->image;
    if (resize_is_cheaper(c, w, &found))
        return resized_part(run, &found, INTERP_LINEAR);
    int64_t answer = begin_job(run, c, w, reduces);
    return answer == DONE && !last ? make_levels(run, w) : answer;
}

/* The costs in the arguments of the step that ends a run: see `end_merging`. */
static inline Costs costs_of(const Run *run, const double *a) {
    int undecoded = !run->program->labels && !run->merging->flushed;
    return (Costs){a[0], a[1], a[2], a[3], a[4], a[5], undecoded ? a[7] : 0, (double)run->sample->columns};
}

static inline int reduces_now(const Run *run, const double *a) { return !run->merging->enlarged && ((int)a[6] >> 1 & 1); }

/* Resample: the geometry is complete. a: six costs; then 1 if the output follows, plus 2 if images may be reduced;
   then the cost of decoding a pixel, or 0. For labels a[6] is the `bodies` of pick_labels. */
static inline int64_t end_merging(Run *run, const double *a) {
    Merging *m = run->merging;
    const Warped *w = m->chain + m->warps;
    const Costs costs = costs_of(run, a);
    int reduces = reduces_now(run, a), follows = (int)a[6] & 1;
    if (!m->collecting) /* nothing was merged */
        return run->program->labels || follows ? DONE : make_job(run);
    m->collecting = m->flushed = m->enlarged = 0;
    return run->program->labels ? resample_labels(run, &costs, w, a + 6) : resample(run, &costs, w, reduces, follows);
}

/* Resample what has been merged, before a warp that cannot be merged with it. `step`: of the run; the step that ends
   it has the costs. */
static inline int64_t flush_merged(Run *run, const Step *step, const Warp *warp) {
    Merging *m = run->merging;
    const Warped *w = m->chain + m->warps;
    const Program *p = run->program;
    while (step < p->steps + p->count && step->effect != OP_MERGED_ENDS)
        step++;
    if (step == p->steps + p->count)
        return REFUSED;
    const double *a = step->arguments + DRAW_ARGUMENTS;
    const Costs costs = costs_of(run, a);
    int enlarged = enlarges(&w->matrix), reduces = reduces_now(run, a) && !enlarges(&warp->matrix);
    m->collecting = 0;
    int64_t answer =
        p->labels ? resample_labels(run, &costs, w, a + 6) : resample(run, &costs, w, reduces, 0);
    m->flushed = 1, m->enlarged |= enlarged;
    TRY(answer);
    return dry_image(run, run->view.rows, run->view.columns) ? DONE : ensure_upright(run);
}

static inline int64_t merge_warp(Run *run, const Step *step, const Warp *warp) {
    Merging *m = run->merging;
    Warped *w = merged(run);
    if (warp->height < 1 || warp->width < 1 || warp->height * warp->width > run->program->most)
        return REFUSED;
    if (w->pending && m->warps + 1 < MOST_WARPS && append_warp(w, warp, w + 1)) {
        m->warps++;
        return DONE;
    }
    if (w->pending && m->warps + 1 == MOST_WARPS)
        return REFUSED;
    if (w->pending) {
        TRY(flush_merged(run, step, warp));
        w = merged(run);
    }
    const View image = w->image;
    *w = new_warped(&image, warp);
    return DONE;
}

/* Begin a job that keeps the image, made upright first, since a job would otherwise sample it. */
static inline int64_t begin_identity(Run *run, int64_t border, int64_t fill) {
    Merging *m = run->merging;
    TRY(materialise(run));
    TRY(dry_run(run) ? DONE : ensure_upright(run));
    m->chain[0] = (Warped){.image = run->view, .pending = 1, .matrix = {{1, 0, 0, 0, 1, 0, 0, 0, 1}},
                           .height = run->view.rows, .width = run->view.columns, .border = border, .fill = fill};
    m->warps = 0, m->has_job = 1, m->job.reduction = 1;
    return DONE;
}

static inline int64_t add_operation(Run *run, const Operation *operation) {
    Merging *m = run->merging;
    Job *j = &m->job;
    if (run->program->channels != COLOURS || j->count == MOST_OPERATIONS)
        return REFUSED;
    TRY(m->has_job ? DONE : begin_identity(run, BORDER_REPLICATE, 0));
    Operation *added = j->operations + j->count++;
    *added = *operation;
    if (added->kind == COLOUR_HUE || added->kind == COLOUR_HSV) { /* OpenCV rounds in the rest of a row after its vectors */
        const Warped *w = m->chain + m->warps;
        added->numbers[3] = (double)(w->width / BODY * BODY), added->numbers[4] = 0;
        added->numbers[5] = (double)w->width, added->numbers[6] = (double)w->height;
    }
    return DONE;
}

/* A matrix whose sums are truncated or rounded. */
static inline Operation linear(const double rows[COLOURS][4], int truncates) {
    Operation result = {.kind = COLOUR_MATRIX};
    for (int c = 0; c < COLOURS; c++)
        for (int k = 0; k < 4; k++)
            result.numbers[4 * c + k] = k < 3 ? rows[c][k] : rows[c][k] * 255.0 - (truncates ? 0.499 : 0.0);
    return result;
}

/* drawn: a factor, and an offset for all levels. */
static inline int64_t adjust(Run *run, const double *drawn) {
    double offset = drawn[1] / 255.0;
    const double rows[COLOURS][4] = {{drawn[0], 0, 0, offset}, {0, drawn[0], 0, offset}, {0, 0, drawn[0], offset}};
    const Operation result = linear(rows, 1);
    return add_operation(run, &result);
}

/* drawn: a matrix. */
static inline int64_t mix(Run *run, const double *drawn) {
    Operation result = {.kind = COLOUR_MATRIX};
    memcpy(result.numbers, drawn, sizeof result.numbers);
    return add_operation(run, &result);
}

/* drawn: shifts of hue, saturation and value; `steps` of the hue, or -1 if it is no whole number of them. */
static inline int64_t tint(Run *run, const double *drawn, int32_t steps) {
    double saturation = MIN(MAX(trunc(drawn[1]), -255), 255), value = MIN(MAX(trunc(drawn[2]), -255), 255);
    const Operation result = {.kind = COLOUR_HSV, .numbers = {steps, saturation, value}};
    if (drawn[0] == 0 && drawn[1] == 0 && drawn[2] == 0)
        return DONE;
    return steps < 0 ? REFUSED : add_operation(run, &result);
}

/* drawn: brightness, contrast, saturation and hue, and their order. */
static inline int64_t jitter(Run *run, const double *drawn) {
    const double luma[COLOURS] = {0.299, 0.587, 0.114};
    for (int k = 0; k < 4; k++) {
        int which = (int)drawn[4 + k];
        double amount = drawn[which], rows[COLOURS][4] = {{0}};
        Operation result = {.kind = COLOUR_CONTRAST, .numbers = {amount}};
        if (amount == (which < 3 ? 1.0 : 0.0))
            continue;
        for (int c = 0; c < COLOURS; c++) {
            for (int i = 0; i < COLOURS && which == 2; i++)
                rows[c][i] = (1.0 - amount) * luma[i];
            rows[c][c] = which == 2 ? rows[c][c] + amount : amount;
        }
        if (which == 0 || which == 2)
            result = linear(rows, which == 0);
        else if (which == 3) {
            double steps = floor(180 * amount);
            result = (Operation){.kind = COLOUR_HUE, .numbers = {steps - 180 * floor(steps / 180), fabs(amount) <= 0.03}};
        }
        TRY(add_operation(run, &result));
    }
    return DONE;
}
