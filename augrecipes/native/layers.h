/* Lazy images: resized or padded versions of others that are computed when their pixels are read, so that no cropped
   pixel is computed. */

#pragma once

#include <math.h>

#include "sampled.h"
#include "materialise.h"
#include "view.h"
#include "windows.h"

/* Interpolations, as OpenCV numbers them; the last is our own: the pixel at the centre, in integers. */
enum { INTERP_NEAREST = 0, INTERP_LINEAR = 1, INTERP_CUBIC = 2, INTERP_AREA = 3, INTERP_NEAREST_MIDDLE = 7 };
enum { BLOCKS = 16, LEAST_CUBIC = 4 }; /* greatest factor of `blocks`, least side for `cubic` */

typedef int32_t Resize(const uint8_t *, int64_t, int64_t, int64_t, int32_t, int64_t, int64_t, uint8_t *, int64_t, int64_t,
                       int64_t, int64_t, int64_t);
EXPORT Resize JOIN(resize, ISA), JOIN(enlarge, ISA), JOIN(cubic, ISA), JOIN(blocks, ISA), JOIN(shrink, ISA), JOIN(nearest, ISA),
    JOIN(nearest_middle, ISA);
EXPORT int32_t JOIN(moved, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int64_t, int64_t, uint8_t *, int64_t);

/* The kernel that resizes with the bits of OpenCV; 0: none. */
static inline Resize *resizer(int64_t rows, int64_t columns, int64_t channels, int64_t height, int64_t width,
                              int64_t mode) {
    double down = 1.0 / ((double)height / (double)rows), across = 1.0 / ((double)width / (double)columns);
    int whole = down == floor(down) && across == floor(across), known = channels != 2;
    if (mode == INTERP_NEAREST)
        return JOIN(nearest, ISA);
    if (mode == INTERP_NEAREST_MIDDLE)
        return JOIN(nearest_middle, ISA);
    if (mode == INTERP_LINEAR)
        return down == 2 && across == 2 ? JOIN(blocks, ISA) : known ? JOIN(resize, ISA) : 0;
    if (mode == INTERP_CUBIC)
        return channels == 3 && MIN(rows, columns) >= LEAST_CUBIC ? JOIN(cubic, ISA) : 0;
    if (mode == INTERP_AREA && (down < 1 || across < 1))
        return known ? JOIN(enlarge, ISA) : 0;
    if (mode != INTERP_AREA || (whole && MAX(down, across) > BLOCKS))
        return 0;
    return whole ? JOIN(blocks, ISA) : known ? JOIN(shrink, ISA) : 0;
}

/* The part of the image that a window of the padded image reads: a single pixel if it shows only border. */
static inline Window under_border(const View *padded, const View *inner, Window of) {
    int64_t size[2] = {inner->rows, inner->columns}, first[2] = {of.top - padded->above, of.left - padded->before};
    int64_t last[2] = {of.bottom - padded->above - 1, of.right - padded->before - 1}, low[2], high[2];
    for (int k = 0; k < 2; k++) {
        int inside = first[k] >= 0 && last[k] < size[k];
        int folds = padded->mode != BORDER_CONSTANT && padded->mode != BORDER_REPLICATE;
        low[k] = folds && !inside ? 0 : MIN(MAX(first[k], 0), size[k] - 1);
        high[k] = folds && !inside ? size[k] - 1 : MIN(MAX(last[k], low[k]), size[k] - 1);
    }
    return (Window){low[0], low[1], high[0] + 1, high[1] + 1};
}

/* Whether this is a dry run, which reads no pixels: its first call sets the window that the sample will read. */
static inline int dry_run(Run *run) {
    int64_t *w = run->sample->window;
    if (run->sample->target)
        return 0;
    if (!run->named) {
        View v = run->view;
        while (v.kind != PIXELS) {
            View inner = run->layers[v.layer];
            if (v.kind == PADDED) {
                Window part = under_border(&v, &inner, visible_rect(&v));
                cut(&inner, part.left, part.top, part.right, part.bottom);
            }
            v = inner;
        }
        Window part = visible_rect(&v);
        w[0] = part.top, w[1] = part.left, w[2] = part.bottom, w[3] = part.right;
        run->named = 1;
    }
    return 1;
}

/* The same before the image is replaced by another of this size. */
static inline int dry_image(Run *run, int64_t rows, int64_t columns) {
    const int dry = dry_run(run);
    if (dry)
        run->view = whole_image(0, rows, columns, 0, run->view.channels);
    return dry;
}

/* Make the image upright in memory: rows from above, pixels contiguous. */
static inline int64_t ensure_upright(Run *run) {
    View *v = &run->view;
    int64_t down, across;
    TRY(ensure_pixels(run));
    const uint8_t *from = first_pixel(v, &down, &across);
    if (across == v->channels && down > 0)
        return DONE;
    int64_t step = v->columns * v->channels;
    uint8_t *to = arena_alloc(run, v->rows * step);
    CHECK_ALLOC(to);
    TRY(JOIN(moved, ISA)(from, down, across, v->rows, v->columns, v->channels, to, step));
    *v = whole_image(to, v->rows, v->columns, step, v->channels);
    return DONE;
}

/* The same with its tables applied; a lazy image that is turned is computed before it is resampled. */
static inline int64_t materialise_upright(Run *run) {
    const int turned = is_turned(&run->view);
    TRY(materialise(run));
    return !turned || dry_image(run, run->view.rows, run->view.columns) ? DONE : ensure_upright(run);
}

/* Copy pixels of a row by their offsets in bytes. */
static inline void pick_pixels(int64_t channels, const uint8_t *row, const int64_t *offsets, int64_t count,
                               uint8_t *restrict to) {
    for (int64_t x = 0; x < count; x++, to += channels)
        for (int64_t c = 0; c < channels; c++)
            to[c] = row[offsets[x] + c];
}

static inline void fill_pixels(const View *padded, int64_t count, uint8_t *to) {
    for (int64_t x = 0; x < count; x++)
        for (int64_t c = 0; c < padded->channels; c++)
            *to++ = (uint8_t)(padded->fill >> 8 * c);
}

/* Whether a border row repeats an image row that is in the window, too, and is copied from there. */
static inline int is_copy(const View *padded, Window of, int64_t y, int64_t at) {
    int64_t first = padded->above + at;
    return at >= 0 && first != y && of.top <= first && first < of.bottom;
}

/* Make columns `x` to `end` of a window, all of them border or all image, in all rows but filled rows and copies.
   `from`: the part of the image that is read, its pixels `across` bytes apart and its rows `down`. */
static inline void make_columns(const View *padded, Window of, Window part, int64_t rows, int64_t columns, const uint8_t *from,
                                int64_t down, int64_t across, int64_t x, int64_t end, uint8_t *to) {
    enum { SOME = 64 };
    int64_t offsets[SOME], channels = padded->channels, step = (of.right - of.left) * channels;
    uint8_t fill[SOME * MOST_CHANNELS];
    for (int64_t count; x < end; x += count) {
        count = MIN(SOME, end - x);
        int inside = 1;
        for (int64_t k = 0; k < count; k++) {
            int64_t at = fold((int32_t)(x + k - padded->before), (int32_t)columns, (int32_t)padded->mode);
            inside &= at >= 0;
            offsets[k] = (at - part.left) * across;
        }
        fill_pixels(padded, inside ? 0 : count, fill); /* other borders have no fill */
        uint8_t *here = to + (x - of.left) * channels;
        for (int64_t y = of.top; y < of.bottom; y++, here += step) {
            int64_t at = fold((int32_t)(y - padded->above), (int32_t)rows, (int32_t)padded->mode);
            const uint8_t *row = from + (at - part.top) * down;
            if (is_copy(padded, of, y, at))
                continue;
            if (at >= 0 && !inside)
                memcpy(here, fill, count * channels);
            else if (at >= 0 && channels == 3) /* the common case, faster with a constant */
                pick_pixels(3, row, offsets, count, here);
            else if (at >= 0)
                pick_pixels(channels, row, offsets, count, here);
        }
    }
}

/* Make a window of the padded image. */
static inline int64_t make_border(Run *run, const View *padded, Window of, uint8_t *to) {
    View *v = &run->view;
    int64_t rows = v->rows, columns = v->columns, channels = v->channels, down, across;
    Window part = under_border(padded, v, of);
    cut(v, part.left, part.top, part.right, part.bottom);
    TRY(ensure_pixels(run));
    const uint8_t *from = first_pixel(v, &down, &across);
    int64_t left = MIN(MAX(padded->before, of.left), of.right), right = MIN(MAX(padded->before + columns, left), of.right);
    int64_t step = (of.right - of.left) * channels;
    const uint8_t *filled = 0;
    uint8_t *here = to;
    for (int64_t y = of.top; y < of.bottom; y++, here += step) {
        int64_t at = fold((int32_t)(y - padded->above), (int32_t)rows, (int32_t)padded->mode);
        if (at >= 0 && across == channels && !is_copy(padded, of, y, at))
            memcpy(here + (left - of.left) * channels,
                   from + (at - part.top) * down + (left - padded->before - part.left) * channels, (right - left) * channels);
        else if (at < 0 && filled)
            memcpy(here, filled, step);
        else if (at < 0)
            fill_pixels(padded, of.right - of.left, here), filled = here;
    }
    make_columns(padded, of, part, rows, columns, from, down, across, of.left, left, to);
    if (across != channels)
        make_columns(padded, of, part, rows, columns, from, down, across, left, right, to);
    make_columns(padded, of, part, rows, columns, from, down, across, right, of.right, to);
    for (int64_t y = of.top; y < of.bottom; y++) {
        int64_t at = fold((int32_t)(y - padded->above), (int32_t)rows, (int32_t)padded->mode);
        if (is_copy(padded, of, y, at))
            memcpy(to + (y - of.top) * step, to + (padded->above + at - of.top) * step, (size_t)step);
    }
    return DONE;
}

/* Compute the pixels of a lazy image. */
static inline int64_t ensure_pixels(Run *run) {
    View image = run->view;
    if (image.kind == PIXELS)
        return DONE;
    Window of = visible_rect(&image);
    int64_t height = of.bottom - of.top, step = (of.right - of.left) * image.channels;
    run->view = run->layers[image.layer];
    TRY(image.kind == RESIZED ? ensure_upright(run) : DONE);
    uint8_t *to = is_turned(&image) ? arena_alloc(run, height * step) : alloc_image(run, height, of.right - of.left, BEHIND_STEPS);
    CHECK_ALLOC(to);
    if (image.kind == PADDED)
        TRY(make_border(run, &image, of, to));
    else {
        View *v = &run->view;
        int64_t from_step, unused;
        const uint8_t *from = first_pixel(v, &from_step, &unused);
        Resize *make = resizer(v->rows, v->columns, v->channels, image.tall, image.wide, image.mode);
        TRY(make(from, v->rows, v->columns, from_step, (int32_t)v->channels, image.tall, image.wide, to, of.top, of.left,
                 height, of.right - of.left, step));
    }
    image.kind = PIXELS, image.at = to, image.step = step, image.top = of.top, image.left = of.left;
    run->view = image;
    return DONE;
}

/* Put a lazy image in place of this one. */
static inline int64_t add_layer(Run *run, int64_t kind, int64_t height, int64_t width, int64_t mode) {
    View *v = &run->view;
    if (height < 1 || width < 1 || height > LONGEST || width > LONGEST || height * width > run->program->most)
        return REFUSED;
    TRY(materialise(run)); /* pending tables belong to the present image */
    run->deep = v->kind == PIXELS ? 0 : run->deep;
    if (run->deep == MOST_LAYERS) {
        TRY(dry_image(run, v->rows, v->columns) ? DONE : ensure_pixels(run));
        run->deep = 0;
    }
    run->layers[run->deep] = *v;
    *v = whole_image(0, height, width, 0, v->channels);
    v->kind = kind, v->layer = run->deep++, v->tall = height, v->wide = width, v->mode = mode;
    return DONE;
}

/* Resize the image lazily. */
static inline int64_t resize(Run *run, int64_t height, int64_t width, int64_t interpolation) {
    const View *v = &run->view;
    if (height == v->rows && width == v->columns)
        return DONE;
    if (height < 1 || width < 1 || v->rows > LONGEST || v->columns > LONGEST ||
        !resizer(v->rows, v->columns, v->channels, height, width, interpolation))
        return REFUSED;
    return add_layer(run, RESIZED, height, width, interpolation);
}

/* Resize the image lazily in its upright orientation: its rotation and flips come after that. */
static inline int64_t resize_upright(Run *run, int64_t height, int64_t width, int64_t interpolation) {
    View *v = &run->view;
    const int transposes = v->down[1] != 0;
    int flips_y = (transposes ? v->down[1] : v->down[0]) < 0, flips_x = (transposes ? v->across[0] : v->across[1]) < 0;
    *v = upright_view(*v);
    int64_t answer = resize(run, transposes ? width : height, transposes ? height : width, interpolation);
    apply_dihedral(v, transposes + 2 * flips_y + 4 * flips_x);
    return answer;
}

/* Pad the image lazily: rows above, below, columns before, after. */
static inline int64_t pad(Run *run, const double *sides, int64_t border, uint32_t fill) {
    View *v = &run->view;
    if (!(sides[0] || sides[1] || sides[2] || sides[3]))
        return DONE;
    for (int k = 0; k < 4; k++)
        if (!(sides[k] >= 0 && sides[k] <= LONGEST))
            return REFUSED;
    int64_t above = (int64_t)sides[0], before = (int64_t)sides[2];
    int64_t height = v->rows + above + (int64_t)sides[1], width = v->columns + before + (int64_t)sides[3];
    int64_t answer = add_layer(run, PADDED, height, width, border);
    v->above = above, v->before = before, v->fill = fill;
    return answer;
}
