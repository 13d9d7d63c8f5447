/* A picture of another size, by the kernels that have OpenCV's bits. */

#ifndef AUGRECIPES_RESIZED_H
#define AUGRECIPES_RESIZED_H

#include <math.h>

#include "view.h"
#include "windows.h"

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

/* The picture of another size. */
static inline int64_t resize(Run *run, int64_t height, int64_t width, int64_t interpolation) {
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

/* The picture of another size, by rows and columns of what it is a part of: its turns come after. */
static inline int64_t resize_upright(Run *run, int64_t height, int64_t width, int64_t interpolation) {
    View *v = &run->view;
    View was = *v;
    int64_t last_y = v->y + (v->rows - 1) * v->down[0] + (v->columns - 1) * v->across[0];
    int64_t last_x = v->x + (v->rows - 1) * v->down[1] + (v->columns - 1) * v->across[1];
    int transposes = v->down[1] != 0;
    int flips_y = (transposes ? v->down[1] : v->down[0]) < 0, flips_x = (transposes ? v->across[0] : v->across[1]) < 0;
    v->y = MIN(v->y, last_y), v->x = MIN(v->x, last_x);
    v->rows = MAX(was.y, last_y) - v->y + 1, v->columns = MAX(was.x, last_x) - v->x + 1;
    v->down[0] = v->across[1] = 1, v->down[1] = v->across[0] = 0;
    int64_t answer = resize(run, transposes ? width : height, transposes ? height : width, interpolation);
    turn(v, transposes + 2 * flips_y + 4 * flips_x);
    return answer;
}

#endif
