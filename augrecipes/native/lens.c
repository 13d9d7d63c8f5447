/* The source places of lens distortion, which grows with the distance from the centre.

   The arithmetic is that of OpenCV's camera model with AVX2: float64 with fused multiply-add, cumulative along a row
   within groups of columns. compiler/kernels/opencv_bits.py checks whether the installed OpenCV does so. */

#include <math.h>

#include "kernels.h"

enum { TOGETHER = 8 }; /* columns that OpenCV processes together, if a row has as many left */

/* Compute the places of some rows.

   rows, columns: of the image
   amount:  the distortion
   first, count: the rows whose places are computed
   line:    workspace for `columns` numbers
   map_x, map_y: count x columns */
KERNEL(lens)(int64_t rows, int64_t columns, double amount, int64_t first, int64_t count, double *line,
             float *map_x, float *map_y) {
    if (!FUSES || rows < 1 || columns < 1 || !(fabs(amount) < 1e6))
        return REFUSED;
    double wide = (double)columns, tall = (double)rows, bend = (float)amount;
    double middle_x = wide / 2, middle_y = tall / 2;
    double part = 1.0 / (wide * tall), step = tall * part, down = wide * part, depth = 1.0 / (wide * tall * part);
    double at = -((middle_x - 0.5) * tall) * part, top = -(wide * (middle_y - 0.5)) * part;
    int64_t body = columns / TOGETHER * TOGETHER;
    for (int64_t x = 0; x < body; x += TOGETHER, at += TOGETHER * step)
        for (int64_t i = 0; i < TOGETHER; i++)
            line[x + i] = (at + step * (double)i) * depth;
    for (int64_t x = body; x < columns; x++, at += step)
        line[x] = at * depth;
    for (int64_t row = 0; row < count; row++, map_x += columns, map_y += columns) {
        double y = __builtin_fma((double)(first + row), down, top) * depth, squared = y * y;
        for (int64_t x = 0; x < columns; x++) {
            double r = line[x] * line[x] + squared, bent = __builtin_fma(__builtin_fma(bend, r, bend), r, 1.0);
            map_x[x] = (float)__builtin_fma(wide, line[x] * bent, middle_x);
            map_y[x] = (float)__builtin_fma(tall, y * bent, middle_y);
        }
    }
    return DONE;
}
