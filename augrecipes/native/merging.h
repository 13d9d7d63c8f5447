/* A merged run carried out: its geometry (merged.h) becomes a resize, or a job for the kernel `fused` with the colour
   steps behind it as operations. In a dry run it is only said which window of a file is read, and at which scale of its
   decoder.

   `collecting`: steps are being merged; `has_job`: a job waits to be written by the output, or to be made for the steps
   behind it. `flush_merged` resamples what was merged so far, where the next warp may not be merged with it.

   Bits: those of `fused` and of OpenCV's resizes.
   Law: tests/laws/test_native_merges.py, tests/laws/test_colours_behind_warps.py. */

#pragma once

#include "labels.h"

enum { BODY = 32 }; /* pixels that OpenCV takes from COLOUR_HSV to RGB at a time, with AVX2 */

EXPORT int32_t JOIN(fused, ISA)(const Job *);

/* The image as the next step sees it. */
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

/* Where a job writes, and in which numbers: its fields of the same names. */
typedef struct {
    void *target;
    int64_t type, down, across, apart;
    const float *scale, *shift;
} Place;

/* Whether the image is one with a border, of the very pixel that a job sees beyond it. */
static inline int extends_border(const Run *run, const Warped *w) {
    const View *v = &run->view;
    const Merging *m = run->merging;
    uint32_t differs = (v->fill ^ (uint32_t)w->fill) & (v->channels == 1 ? 0xff : 0xffffff);
    return v->kind == PADDED && v->mode == BORDER_CONSTANT && w->border == BORDER_CONSTANT && !differs &&
           m->job.reduction == 1 && !m->reads_part && !m->reduced && v->rows <= INT16_MAX && v->columns <= INT16_MAX &&
           v->rows * v->columns * v->channels < INT32_MAX / 2; /* more no job takes */
}

/* The image without its border; `left` and `top`: where it begins in what was seen of that. */
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

/* Of an image that was decoded smaller: what lies there, and the matrix to it. */
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
    j->border = BORDER_REPLICATE; /* nothing beyond is seen: none of it may be blended in */
}

/* Carry out the job that is left, of this geometry. */
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

/* Write what is left as the output asks. */
static inline int64_t write_job(Run *run) {
    const Program *p = run->program;
    const Merging *m = run->merging;
    return run_job(run, m->chain + m->warps,
                         (Place){run->sample->target, p->type, p->down, p->across, p->apart, p->scale, p->shift});
}

/* Make what is left, of this geometry: levels, for the steps behind. */
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

/* What a sampling of the image as it is needs to know, before it is named or carried out. */
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

/* Where the last whole square of k x k ends, of a part that ends at `end` of `limit`. What the image's own last one lacks
   encoders have filled up by repeating its edge. */
static inline int64_t last_square(int64_t wanted, int64_t end, int64_t limit, int64_t k) {
    return MIN((wanted + k - 1) / k * k, end == limit ? limit : end / k * k);
}

/* What a decoder is to give with k x k pixels as one; false where that would show what was cut off, or where more than
   the image is read. */
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
        /* between two pixels of the coarse grid a sample reads k further */
        from[i] = MAX((int64_t)floor(low[i]) - 2 - k, 0), to[i] = (int64_t)ceil(high[i]) + 3 + k;
    }
    *of = (Window){base.y + from[1] / k * k, base.x + from[0] / k * k,
                   last_square(base.y + to[1], base.y + base.rows, run->sample->rows, k),
                   last_square(base.x + to[0], base.x + base.columns, run->sample->columns, k)};
    return of->bottom > of->top && of->right > of->left;
}

/* Sample an image that is decoded smaller: where nothing is read yet, say what of it, and by how much. */
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

/* Carry out this geometry. last: the sampling that it ends with is left to what follows, where that is all. */
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

/* What things cost, of what ends a run: see `end_merging`. */
static inline Costs costs_of(const Run *run, const double *a) {
    int undecoded = !run->program->labels && !run->merging->flushed;
    return (Costs){a[0], a[1], a[2], a[3], a[4], a[5], undecoded ? a[7] : 0, (double)run->sample->columns};
}

static inline int reduces_now(const Run *run, const double *a) { return !run->merging->enlarged && ((int)a[6] >> 1 & 1); }

/* The geometry is complete. a: what things cost; then 1 where the output follows, and 2 more where images are reduced;
   and what a pixel costs that is not decoded yet, or 0. Of labels see there. */
static inline int64_t end_merging(Run *run, const double *a) {
    Merging *m = run->merging;
    const Warped *w = m->chain + m->warps;
    const Costs costs = costs_of(run, a);
    int reduces = reduces_now(run, a), follows = (int)a[6] & 1;
    if (!m->collecting) /* there is nothing */
        return run->program->labels || follows ? DONE : make_job(run);
    m->collecting = m->flushed = m->enlarged = 0;
    return run->program->labels ? resample_labels(run, &costs, w, a + 6) : resample(run, &costs, w, reduces, follows);
}

/* Carry out what was merged so far, for a warp that finds something else there than one resampling would. `step`: of
   the run; what ends it says what things cost. */
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

/* Leave the image as it is to a job, turned before: a job would sample it. */
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
    if (added->kind == COLOUR_HUE || added->kind == COLOUR_HSV) { /* OpenCV rounds the tail of a row behind its vectors */
        const Warped *w = m->chain + m->warps;
        added->numbers[3] = (double)(w->width / BODY * BODY), added->numbers[4] = 0;
        added->numbers[5] = (double)w->width, added->numbers[6] = (double)w->height;
    }
    return DONE;
}

/* A matrix whose sums drop their fraction, or are rounded. */
static inline Operation linear(const double rows[COLOURS][4], int truncates) {
    Operation result = {.kind = COLOUR_MATRIX};
    for (int c = 0; c < COLOURS; c++)
        for (int k = 0; k < 4; k++)
            result.numbers[4 * c + k] = k < 3 ? rows[c][k] : rows[c][k] * 255.0 - (truncates ? 0.499 : 0.0);
    return result;
}

/* drawn: a factor, and what is added to all levels. */
static inline int64_t adjust(Run *run, const double *drawn) {
    double offset = drawn[1] / 255.0;
    const double rows[COLOURS][4] = {{drawn[0], 0, 0, offset}, {0, drawn[0], 0, offset}, {0, 0, drawn[0], offset}};
    const Operation result = linear(rows, 1);
    return add_operation(run, &result);
}

/* drawn: the numbers of a matrix. */
static inline int64_t mix(Run *run, const double *drawn) {
    Operation result = {.kind = COLOUR_MATRIX};
    memcpy(result.numbers, drawn, sizeof result.numbers);
    return add_operation(run, &result);
}

/* drawn: what hue, saturation and value are shifted by; of the first whole steps, -1 where it has none. */
static inline int64_t tint(Run *run, const double *drawn, int32_t steps) {
    double saturation = MIN(MAX(trunc(drawn[1]), -255), 255), value = MIN(MAX(trunc(drawn[2]), -255), 255);
    const Operation result = {.kind = COLOUR_HSV, .numbers = {steps, saturation, value}};
    if (drawn[0] == 0 && drawn[1] == 0 && drawn[2] == 0)
        return DONE;
    return steps < 0 ? REFUSED : add_operation(run, &result);
}

/* drawn: brightness, contrast, saturation and hue, and the order in which they come. */
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
