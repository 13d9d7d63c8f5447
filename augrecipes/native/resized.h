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

#endif
