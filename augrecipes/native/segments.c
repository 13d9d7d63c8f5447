/* Superpixels by simple linear iterative clustering (SLIC, Achanta et al. 2012), as in albumentations: of centres at
   the same distance the first wins. */

#include "kernels.h"

#include <math.h>

/* Assign the pixels around a centre to it, where it is nearer than the centres before it. */
static void claim(const double *image, int64_t rows, int64_t columns, int64_t channels, const int64_t *centre, int32_t number,
                  int64_t step, double compactness, double *distances, int32_t *labels) {
    const int64_t x0 = centre[0], y0 = centre[1];
    const int64_t top = MAX(0, y0 - step), bottom = MIN(rows, y0 + step + 1);
    const int64_t left = MAX(0, x0 - step), right = MIN(columns, x0 + step + 1);
    const double *own = image + (y0 * columns + x0) * channels;
    for (int64_t y = top; y < bottom; y++)
        for (int64_t x = left; x < right; x++) {
            const double *here = image + (y * columns + x) * channels;
            double colour = 0;
            for (int64_t c = 0; c < channels; c++)
                colour += (here[c] - own[c]) * (here[c] - own[c]);
            double apart = (double)((y - y0) * (y - y0) + (x - x0) * (x - x0)) / (double)(step * step);
            double distance = colour + compactness * apart;
            if (distance < distances[y * columns + x])
                distances[y * columns + x] = distance, labels[y * columns + x] = number;
        }
}

/* Segment an image.

   image: rows x columns x channels
   centres: count x 2: x and y of each, within the image; they are moved
   step: the greatest distance of a pixel from its centre, across and down
   sums: workspace of count x 3; distances: workspace of rows x columns
   labels: rows x columns: for each pixel the index of its centre, or -1 */
KERNEL(segments)(const double *image, int64_t rows, int64_t columns, int64_t channels, int64_t *centres, int64_t count,
                 int64_t step, double compactness, int64_t turns, int64_t *sums, double *distances, int32_t *labels) {
    if (step < 1 || count < 0 || count > INT32_MAX)
        return REFUSED;
    for (int64_t k = 0; k < rows * columns; k++)
        distances[k] = INFINITY, labels[k] = -1;
    for (int64_t turn = 0; turn < turns; turn++) {
        for (int64_t k = 0; k < count; k++)
            claim(image, rows, columns, channels, centres + 2 * k, (int32_t)k, step, compactness, distances, labels);
        for (int64_t k = 0; k < 3 * count; k++)
            sums[k] = 0;
        for (int64_t y = 0; y < rows; y++)
            for (int64_t x = 0; x < columns; x++)
                if (labels[y * columns + x] >= 0) {
                    int64_t *sum = sums + 3 * labels[y * columns + x];
                    sum[0] += x, sum[1] += y, sum[2]++;
                }
        for (int64_t k = 0; k < count; k++)
            for (int64_t axis = 0; axis < 2 && sums[3 * k + 2]; axis++)
                centres[2 * k + axis] = sums[3 * k + axis] / sums[3 * k + 2];
    }
    return DONE;
}
