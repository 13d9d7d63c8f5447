/* Draws of Perspective: four corners, and the matrix that maps them to those of the image, as albumentations' sampler
   and OpenCV's elimination find it. */

#pragma once

#include "drawing.h"

enum { EQUATIONS = 8 };

/* Solve eight equations by Gaussian elimination with partial pivoting; 0 if they are singular. */
static inline int eliminate(double a[EQUATIONS][EQUATIONS + 1], double *to) {
    for (int i = 0; i < EQUATIONS; i++) {
        int most = i;
        for (int j = i + 1; j < EQUATIONS; j++)
            most = fabs(a[j][i]) > fabs(a[most][i]) ? j : most;
        if (!(fabs(a[most][i]) > 1e-12))
            return 0;
        for (int k = 0; k <= EQUATIONS; k++) {
            double other = a[i][k];
            a[i][k] = a[most][k], a[most][k] = other;
        }
        double part = -1 / a[i][i];
        for (int j = i + 1; j < EQUATIONS; j++) {
            double times = a[j][i] * part;
            for (int k = i + 1; k <= EQUATIONS; k++)
                a[j][k] += times * a[i][k];
        }
    }
    for (int i = EQUATIONS - 1; i >= 0; i--) {
        double rest = a[i][EQUATIONS];
        for (int k = i + 1; k < EQUATIONS; k++)
            rest -= a[i][k] * to[k];
        to[i] = rest / a[i][i];
    }
    return 1;
}

static inline float apart(const float *a, const float *b) {
    float x = a[0] - b[0], y = a[1] - b[1];
    return sqrtf(x * x + y * y);
}

/* The matrix from the image to the result, and the size of the region that it shows; 0 if corners are too near. */
static inline int draw_tilt(Drawing *d, const double *a, double *to) {
    double sides[2] = {(double)d->columns, (double)d->rows}, points[4][2];
    Words64 words = words_of(d);
    Normal normal = normal_of(a[2]);
    double deviation = stream_uniform(&d->stream, a[0], a[1]);
    for (int k = 0; k < 8; k++) {
        int corner = k / 2, axis = k % 2, far = axis ? corner >= 2 : corner == 1 || corner == 2;
        double in = fmod(fabs(deviation * normal(&words)), 0.32);
        points[corner][axis] = (far ? 1.0 - in : in) * sides[axis];
    }
    for (int i = 1; i < 4; i++) /* sorted by x */
        for (int k = i; k > 0 && points[k][0] < points[k - 1][0]; k--)
            for (int axis = 0; axis < 2; axis++) {
                double other = points[k][axis];
                points[k][axis] = points[k - 1][axis], points[k - 1][axis] = other;
            }
    int left = !(points[0][1] < points[1][1]), right = !(points[2][1] < points[3][1]);
    const int order[4] = {left, 2 + right, 3 - right, 1 - left};
    const float ends[4][2] = {{0, 0}, {(float)sides[0], 0}, {(float)sides[0], (float)sides[1]}, {0, (float)sides[1]}};
    float corners[4][2];
    double equations[EQUATIONS][EQUATIONS + 1] = {{0}};
    for (int k = 0; k < 4; k++) {
        double *one = equations[k], *two = equations[k + 4];
        for (int axis = 0; axis < 2; axis++) {
            volatile float rounded = (float)points[order[k]][axis]; /* volatile: compilers have dropped this rounding */
            float at = corners[k][axis] = rounded;
            one[axis] = two[axis + 3] = at;
            one[6 + axis] = -at * ends[k][0], two[6 + axis] = -at * ends[k][1];
        }
        one[2] = two[5] = 1;
        one[EQUATIONS] = ends[k][0], two[EQUATIONS] = ends[k][1];
    }
    float across[2] = {apart(corners[1], corners[0]), apart(corners[2], corners[3])};
    float down[2] = {apart(corners[2], corners[1]), apart(corners[3], corners[0])};
    if (!(MIN(across[0], across[1]) >= 2 && MIN(down[0], down[1]) >= 2))
        return 0;
    to[8] = 1, to[9] = trunc(MAX(down[0], down[1])), to[10] = trunc(MAX(across[0], across[1]));
    return eliminate(equations, to);
}
