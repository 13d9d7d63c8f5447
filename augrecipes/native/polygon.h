/* Fills polygons with the bits of OpenCV's fillPoly: the interior by the even-odd rule, and their sides. */

#pragma once

#include <string.h>

#include "colour_draws.h"

enum { POINT = 16 }; /* fractional bits of places in a row */

/* Draw a side from corner to corner: from left to right along the longer axis. */
static inline void mark_side(const int64_t *from, const int64_t *to, int64_t columns, uint8_t *mask) {
    const int64_t *left = from[0] <= to[0] ? from : to, *right = left == from ? to : from;
    int64_t across = right[0] - left[0], down = right[1] - left[1], row = down < 0 ? -columns : columns;
    int64_t far = down < 0 ? -down : down, longer = MAX(across, far), shorter = MIN(across, far);
    int64_t ahead = far > across ? row : 1, aside = far > across ? 1 : row, error = longer - 2 * shorter;
    uint8_t *at = mask + left[1] * columns + left[0];
    for (int64_t k = 0; k <= longer; k++) {
        *at = 1;
        at += ahead + (error < 0 ? aside : 0);
        error += (error < 0 ? 2 * longer : 0) - 2 * shorter;
    }
}

/* Set the pixels that a polygon covers to 1.

   corners: x and y of each, within the image; count: at most MOST_CORNERS
   mask: rows x columns */
static inline void fill_polygon(const int64_t (*corners)[2], int count, int64_t rows, int64_t columns, uint8_t *mask) {
    int64_t first = rows, last = -1;
    for (int k = 0; k < count; k++) {
        first = MIN(first, corners[k][1]), last = MAX(last, corners[k][1]);
        mark_side(corners[k ? k - 1 : count - 1], corners[k], columns, mask);
    }
    for (int64_t y = first; y < last; y++) {
        int64_t places[MOST_CORNERS];
        int found = 0;
        for (int k = 0; k < count; k++) {
            const int64_t *a = corners[k ? k - 1 : count - 1], *b = corners[k];
            const int64_t *upper = a[1] < b[1] ? a : b, *lower = upper == a ? b : a;
            if (y < upper[1] || y >= lower[1])
                continue;
            int64_t slope = (lower[0] - upper[0]) * (1 << POINT) / (lower[1] - upper[1]);
            int64_t place = upper[0] * (1 << POINT) + (y - upper[1]) * slope;
            int at = found++;
            for (; at > 0 && places[at - 1] > place; at--)
                places[at] = places[at - 1];
            places[at] = place;
        }
        for (int k = 0; k + 1 < found; k += 2) {
            /* Only whole pixels: partly covered ones belong to the sides. */
            int64_t left = (places[k] + (1 << POINT) - 1) >> POINT, right = places[k + 1] >> POINT;
            if (left <= right)
                memset(mask + y * columns + left, 1, (size_t)(right - left + 1));
        }
    }
}
