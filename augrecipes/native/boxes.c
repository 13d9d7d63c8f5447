/* Boxes and keypoints: moves them by matrices, clips boxes to the image, and drops those of which too little is left.
   compat/boxes.py and ops/places.py define the result, bit for bit. */

#include <math.h>
#include <string.h>

#include "kernels.h"
#include "layout.h"

static const double LEAST = 1e-3, ROUNDING = 1e-7, WHOLE = 1 - 1e-6, BEYOND = 1e-5; /* as in compat/boxes.py */

/* The format of a recipe's boxes: in pixels, with a size instead of a second corner, with a centre instead of the
   first one, clipped; and whether rows arrive, and are returned, in this format. Otherwise they are left, top, right
   and bottom as fractions of the sides. REMOVED: keypoints outside the image are dropped. */
enum { IN_PX = 1, SIZED = 2, CENTRED = 4, CLIPPED = 8, COMES = 16, LEAVES = 32, REMOVED = 64 };

static inline double within(double share) { return share < 0 ? 0 : share > 1 ? 1 : share; }

/* Clip a box to the image; whether enough of it is left. */
static inline int cut_box(double *box, double height, double width, const double *needs) {
    double whole = (box[2] - box[0]) * width * ((box[3] - box[1]) * height);
    for (int i = 0; i < 4; i++)
        box[i] = within(box[i]);
    double across = (box[2] - box[0]) * width, down = (box[3] - box[1]) * height, area = across * down;
    return across > LEAST && down > LEAST && area >= needs[0] - ROUNDING && area >= needs[1] * whole * WHOLE &&
           across >= needs[2] - ROUNDING && down >= needs[3] - ROUNDING &&
           (needs[4] < 0 || (across <= needs[4] * down && down <= needs[4] * across));
}

/* Convert a box to fractions of the sides; false if it has no area, or is outside the image. */
static inline int to_shares(double *box, int form, double height, double width) {
    const double sides[2] = {width, height}, thin = LEAST / MIN(width, height);
    int whole = 1;
    for (int k = 0; k < 2; k++) {
        double low = box[k], high = box[k + 2];
        if (form & IN_PX)
            low /= sides[k], high /= sides[k];
        low -= form & CENTRED ? high / 2 : 0;
        high += form & SIZED ? low : 0;
        if (!(high > low && low > -INFINITY && high < INFINITY && (form & CLIPPED || (low >= -BEYOND && high <= 1 + BEYOND))))
            return 0;
        whole &= 0 <= low && low <= high - thin && high <= 1;
        box[k] = low, box[k + 2] = high;
    }
    for (int i = 0; i < 4 && !whole; i++)
        box[i] = within(box[i]);
    return 1;
}

static inline void from_shares(double *box, int form, double height, double width) {
    const double sides[2] = {width, height};
    for (int k = 0; k < 2; k++) {
        box[k + 2] -= form & SIZED ? box[k] : 0;
        box[k] += form & CENTRED ? box[k + 2] / 2 : 0;
        if (form & IN_PX)
            box[k] *= sides[k], box[k + 2] *= sides[k];
    }
}

/* Move a point in pixel centres by a matrix. */
static inline void move_place(double *place, const double *m) {
    double x = place[0], y = place[1], weight = m[6] == 0 && m[7] == 0 ? 1 : x * m[6] + y * m[7] + m[8];
    place[0] = (x * m[0] + y * m[1] + m[2]) / weight, place[1] = (x * m[3] + y * m[4] + m[5]) / weight;
}

/* Replace a box by the bounds of its moved corners. */
static inline void move_box(double *box, const double *move) {
    const double *m = move + 5, sides[2] = {move[2], move[1]}, after[2] = {move[4], move[3]};
    double was[4];
    memcpy(was, box, sizeof was);
    if (m[6] == 0 && m[7] == 0) { /* affine: each bound takes, of either side, the end that moves it furthest */
        for (int k = 0; k < 2; k++) {
            double x = m[3 * k] * sides[0] / after[k], y = m[3 * k + 1] * sides[1] / after[k];
            double far = (m[3 * k + 2] + (1 - m[3 * k] - m[3 * k + 1]) / 2) / after[k];
            box[k] = was[x > 0 ? 0 : 2] * x + was[y > 0 ? 1 : 3] * y + far;
            box[k + 2] = was[x > 0 ? 2 : 0] * x + was[y > 0 ? 3 : 1] * y + far;
        }
        return;
    }
    for (int i = 0; i < 4; i++) {
        double place[2];
        for (int k = 0; k < 2; k++)
            place[k] = (was[k] + (i >> k & 1 ? was[k + 2] - was[k] : 0)) * sides[k] - 0.5;
        move_place(place, m);
        for (int k = 0; k < 2; k++) {
            double share = (place[k] + 0.5) / after[k];
            box[k] = i ? MIN(box[k], share) : share, box[k + 2] = i ? MAX(box[k + 2], share) : share;
        }
    }
}

/* Whether a box or a keypoint is kept. */
static inline int is_kept(double *row, double height, double width, const double *needs, int form) {
    if (needs)
        return cut_box(row, height, width, needs);
    return !(form & REMOVED) || (row[0] >= -0.5 && row[0] < width && row[1] >= -0.5 && row[1] < height);
}

/* Whether a row is valid in its original image, to which keypoints need not belong: they may be NaN. */
static inline int is_valid(double *row, int form, double height, double width, const double *needs) {
    if (needs)
        return to_shares(row, form, height, width);
    return !(form & REMOVED) || !(row[0] < 0 || row[0] >= width || row[1] < 0 || row[1] >= height) ||
           row[0] != row[0] || row[1] != row[1];
}

/* Move rows, and move those that are kept to the front; returns how many.

   rows:   count x columns, which begin with a box, or with x and y of a keypoint in px
   moves:  `steps` of them, MOVE numbers each: see moves.h
   needs:  area, visibility, width and height that a box must have, and the greatest ratio of its sides or -1;
           NULL: the rows are keypoints
   passed: whether they are filtered before the first move, too */
KERNEL(places)(double *rows, int64_t count, int64_t columns, const double *moves, int64_t steps, double height, double width,
               const double *needs, int32_t form, int32_t passed) {
    int32_t left = 0;
    for (int64_t k = 0; k < count; k++) {
        double *row = rows + k * columns, tall = height, wide = width;
        if (form & COMES && !is_valid(row, form, tall, wide, needs))
            return REFUSED;
        int stays = !(form & COMES && form & CLIPPED) ||
                    ((row[2] - row[0]) * wide > LEAST && (row[3] - row[1]) * tall > LEAST);
        if (passed || (!steps && form & LEAVES))
            stays = stays && is_kept(row, tall, wide, needs, form);
        for (const double *move = moves; move < moves + steps * MOVE && stays; move += MOVE) {
            needs ? move_box(row, move) : move_place(row, move + 5);
            tall = move[3], wide = move[4];
            stays = is_kept(row, tall, wide, needs, form);
        }
        if (!stays)
            continue;
        if (needs && form & LEAVES)
            from_shares(row, form, tall, wide);
        memmove(rows + left++ * columns, row, (size_t)columns * sizeof *row);
    }
    return left;
}
