/* Boxes cut at the sides of their image, and those left of which there is enough. */

#include "kernels.h"

static const double LEAST = 1e-3, ROUNDING = 1e-7, WHOLE = 1 - 1e-6; /* as in compat/boxes.py */

/* boxes:   count x columns; of each the first four are left, top, right and bottom, in widths and heights of the image
   needs:   area, visibility, width and height that a box must have, and by how much one side may be the longer, or -1
   Answers how many are left, which lie first then. */
KERNEL(boxes)(double *boxes, int64_t count, int64_t columns, double height, double width, const double *needs) {
    int32_t left = 0;
    for (int64_t k = 0; k < count; k++) {
        double *box = boxes + k * columns;
        double whole = (box[2] - box[0]) * width * ((box[3] - box[1]) * height);
        for (int i = 0; i < 4; i++)
            box[i] = box[i] < 0 ? 0 : box[i] > 1 ? 1 : box[i];
        double across = (box[2] - box[0]) * width, down = (box[3] - box[1]) * height, area = across * down;
        if (!(across > LEAST && down > LEAST && area >= needs[0] - ROUNDING && area >= needs[1] * whole * WHOLE &&
              across >= needs[2] - ROUNDING && down >= needs[3] - ROUNDING &&
              (needs[4] < 0 || (across <= needs[4] * down && down <= needs[4] * across))))
            continue;
        for (int64_t i = 0; i < columns; i++)
            boxes[left * columns + i] = box[i];
        left++;
    }
    return left;
}
