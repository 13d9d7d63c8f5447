/* A job: one image warped, its colours changed, and written into its place of a batch; all that is needed for it.

   A job holds pointers and numbers and nothing of Python, so that many may be carried out by as many threads. Every field
   takes eight bytes. tests/laws/job_cases.py writes jobs, field by field in this order. */

#ifndef AUGRECIPES_JOB_H
#define AUGRECIPES_JOB_H

#include <math.h>
#include <string.h>

#include "ops.h"
#include "planes.h"
#include "sampled.h"

enum { MOST_BEFORE = 2000 };

/* What is done to colours.

   COLOUR_MATRIX:   numbers are three rows of four: the new red, green and blue out of red, green, blue and 1
   COLOUR_CONTRAST: away from the mean luma of the image, by numbers[0]; fractions are dropped
   COLOUR_HUE:      turned by numbers[0] steps of two degrees, 0..179; numbers[1]: a matrix may stand for that where it fits
   COLOUR_HSV:      hue turned by numbers[0] steps, saturation and value shifted by numbers[1] and numbers[2]
   Of both:  numbers[3] to numbers[6]: left, top, right and bottom of the part where fractions are rounded, not dropped
   COLOUR_TABLES:   levels exchanged: `table` is that of red, 256 bytes, and behind it those of green and blue */

typedef struct {
    int64_t kind;
    double numbers[12];
    const uint8_t *table;
} Operation;

typedef struct {
    /* The image: rows x columns x channels of uint8, 1 or 3; step: bytes from row to row. */
    const uint8_t *source;
    int64_t rows, columns, step, channels;
    /* From a pixel of the result to its place in the image, a last turn included; what lies beyond, a byte for each
       channel; and over how many pixels, each way, means are taken before: 1, 2, 4 or 8. */
    double matrix[9];
    int64_t border, fill, reduction;
    /* The result: of height x width pixels; UINT8, FLOAT32 or FLOAT16; its strides in elements from row to row, pixel to
       pixel and channel to channel; a float is level * scale + shift. */
    int64_t height, width;
    void *target;
    int64_t type, down, across, apart;
    double scale[COLOURS], shift[COLOURS];
    /* Memory to work in, that of nobody else meanwhile. */
    uint8_t *scratch;
    int64_t workspace;
    /* Of the image that the matrix leads to, the one above is the part from there on; all else of it is `fill`, and so
       is what lies beyond. Up to MOST_BEFORE, and only without a reduction. */
    int64_t left, top;
    /* What the matrix leads to is the image bent: along a grid, or by a lens. Where the image's columns and rows are, in
       1/65536 px, and behind the last ones a block of numbers more, or NULL; whether there is a lens, and its amount. */
    const int32_t *across_grid, *down_grid;
    int64_t bends;
    double lens;
    /* What is done to colours, of three channels only. */
    int64_t count;
    Operation operations[MOST_OPERATIONS];
} Job;

#endif
