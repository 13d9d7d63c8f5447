/* Boxes cut at the sides of their image, and those left that are large enough: albumentations' `filter_bboxes`, operation
   by operation, so that floats are its own to the last bit. */

#include <math.h>

#include "kernels.h"

enum { SIDES = 4 };
static const double LEAST = 1e-7; /* albumentations' epsilon */

/* boxes:   count x columns; of each the first four are left, top, right and bottom, in widths and heights of the image
   single:  they came as float32, and so the areas are such that are compared with what is left of them
   needs:   area, visibility, width and height that a box must have, and by how much one side may be the longer, or -1
   Answers how many are left, which lie first then; REFUSED where there is a negative zero, which is cut to a zero of
   either sign, as numpy's version has it. */
KERNEL(boxes)(double *boxes, int64_t count, int64_t columns, double height, double width, int32_t single,
              const double *needs) {
    const double sides[SIDES] = {width, height, width, height};
    int32_t left = 0;
    for (int64_t k = 0; k < count; k++) {
        double *box = boxes + k * columns, pixels[SIDES];
        double area = (box[2] - box[0]) * width * ((box[3] - box[1]) * height), more = area + LEAST;
        int seen = area >= LEAST;
        if (single) {
            float of = ((float)box[2] - (float)box[0]) * (float)width * (((float)box[3] - (float)box[1]) * (float)height);
            seen = of >= (float)LEAST, more = of + (float)LEAST;
        }
        for (int i = 0; i < SIDES; i++) {
            double at = box[i] * sides[i];
            if (at == 0 && signbit(at))
                return REFUSED;
            box[i] = (at < 0 ? 0 : at > sides[i] ? sides[i] : at) / sides[i];
            pixels[i] = box[i] * sides[i];
        }
        double part = (box[2] - box[0]) * width * ((box[3] - box[1]) * height);
        double across = pixels[2] - pixels[0], down = pixels[3] - pixels[1];
        if (!(seen && part >= needs[0] - LEAST && part / more >= needs[1] && across >= needs[2] - LEAST &&
              down >= needs[3] - LEAST && (needs[4] < 0 || (across / (down + LEAST) <= needs[4] && down / (across + LEAST) <= needs[4]))))
            continue;
        for (int64_t i = 0; i < columns; i++)
            boxes[left * columns + i] = box[i];
        left++;
    }
    return left;
}

/* How many boxes have an area and lie within the image, as far as they are numbers. */
KERNEL(boxes_inside)(const double *boxes, int64_t count, int64_t columns) {
    int32_t inside = 0;
    for (int64_t k = 0; k < count; k++) {
        const double *box = boxes + k * columns;
        inside += box[0] >= 0 && box[0] < box[2] && box[2] <= 1 && box[1] >= 0 && box[1] < box[3] && box[3] <= 1;
    }
    return inside;
}
