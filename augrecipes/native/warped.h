/* Warps with the bits of albumentations, by the kernel `warp`, which reads matrices as float32.

   Albumentations multiplies six matrices, in a library whose order of sums, and whose sines, differ from ours. So the
   error of each number is bounded; if that admits another float32, the sample is refused. */

#pragma once

#include "layers.h"

EXPORT int32_t JOIN(warp, ISA)(const uint8_t *, int64_t, int64_t, int64_t, int32_t, int32_t, int32_t, const double *,
                               const float *, int64_t, int64_t, const float *, int64_t, int64_t, int32_t, uint32_t, int64_t,
                               uint8_t *, int64_t, int64_t, int64_t, int64_t, int64_t);

/* A number, and a bound of its error. */
typedef struct {
    double at, off;
} About;

static const double ULPS = 0x1p-47; /* thirty-two rounding errors */

static inline About product_about(About a, About b) {
    double at = a.at * b.at;
    return (About){at, fabs(a.at) * b.off + fabs(b.at) * a.off + a.off * b.off + ULPS * fabs(at)};
}

static inline About less_about(About a, About b) {
    return (About){a.at - b.at, a.off + b.off + ULPS * (fabs(a.at) + fabs(b.at))};
}

static inline About negative(About a) { return (About){-a.at, a.off}; }

/* Invert an affine matrix, as float32; false if a bit is uncertain. */
static inline int certain_inverse(const About *m, double *to) {
    About det = less_about(product_about(m[0], m[4]), product_about(m[1], m[3]));
    if (!(fabs(det.at) > 4 * det.off))
        return 0;
    About k = {1.0 / det.at, 2 * det.off / (det.at * det.at) + ULPS * fabs(1.0 / det.at)};
    About p = product_about(m[4], k), q = negative(product_about(m[1], k)), r = negative(product_about(m[3], k));
    About s = product_about(m[0], k);
    const About back[6] = {p, q, less_about(negative(product_about(p, m[2])), product_about(q, m[5])),
                           r, s, less_about(negative(product_about(r, m[2])), product_about(s, m[5]))};
    for (int i = 0; i < 6; i++) {
        to[i] = back[i].at;
        if ((float)(back[i].at - back[i].off) != (float)(back[i].at + back[i].off))
            return 0;
    }
    to[6] = 0, to[7] = 0, to[8] = 1;
    return 1;
}

/* 1: a matrix is the identity by np.allclose; 0: it is not; -1: uncertain. */
static inline int is_still(const About *m) {
    int still = 1;
    for (int i = 0; i < 6; i++) {
        double one = i == 0 || i == 4, least = 1e-8 + 1e-5 * one, far = fabs(m[i].at - one);
        if (fabs(far - least) <= m[i].off + 1e-12)
            return -1;
        still &= far < least;
    }
    return still;
}

/* Warp the image by a matrix from the result; `body`: columns that OpenCV processes in whole vectors, see
   the kernel. */
static inline int64_t warp_image(Run *run, int32_t kind, const double *matrix, int64_t height, int64_t width, int64_t border,
                                 int64_t fill, int64_t body, int32_t linear) {
    View *v = &run->view;
    if (dry_image(run, height, width))
        return DONE;
    if (body < 1)
        return REFUSED;
    TRY(ensure_upright(run));
    int64_t step, across, row = width * v->channels;
    uint8_t *to = alloc_image(run, height, width, LAST_STEP);
    CHECK_ALLOC(to);
    const uint8_t *from = first_pixel(v, &step, &across);
    TRY(JOIN(warp, ISA)(from, v->rows, v->columns, step, (int32_t)v->channels, linear, kind, matrix, 0, 0, 0, 0, 0, 0,
                        (int32_t)border, (uint32_t)fill, width / body * body, to, 0, 0, height, width, row));
    *v = whole_image(to, height, width, row, v->channels);
    return DONE;
}

/* Warp the image by the drawn matrix, which is followed by rows and columns. a: border, fill; columns that OpenCV
   processes together; whether the matrix shears; whether the nearest pixel is picked. */
static inline int64_t warp_exactly(Run *run, const double *drawn, const double *a) {
    const View *v = &run->view;
    double all = 0, x = (double)v->columns / 2, y = (double)v->rows / 2, back[9];
    int64_t height = (int64_t)drawn[6], width = (int64_t)drawn[7];
    About m[6];
    for (int i = 0; i < 6; i++)
        all += i % 3 < 2 ? fabs(drawn[i]) : 0;
    for (int i = 0; i < 6; i++)
        m[i] = (About){drawn[i], ULPS * (a[3] != 0 ? all : fabs(drawn[i]))};
    for (int i = 2; i < 6; i += 3)
        m[i].off = ULPS * 4 * (fabs(drawn[i]) + x + y + fabs(drawn[i - 2]) * x + fabs(drawn[i - 1]) * y) +
                   m[i - 2].off * x + m[i - 1].off * y;
    for (int i = 0; i < 6; i += 3) /* a row that only shifts is known exactly */
        if (drawn[i] == (i == 0) && drawn[i + 1] == (i == 3))
            m[i].off = m[i + 1].off = m[i + 2].off = 0;
    int still = is_still(m);
    if (still == 1 && height == v->rows && width == v->columns)
        return DONE;
    if (still || !certain_inverse(m, back) || height < 1 || width < 1 || height * width > run->program->most)
        return REFUSED;
    return warp_image(run, WARP_AFFINE, back, height, width, (int64_t)a[0], (int64_t)a[1], (int64_t)a[2], a[4] == 0);
}
