/* A program: what a compiled recipe does to images, as numbers, so that samples run one after another without Python.

   Every field takes eight bytes. compiler/lowering writes programs, field by field in this order. */

#ifndef AUGRECIPES_PROGRAM_H
#define AUGRECIPES_PROGRAM_H

#include "kernels.h"
#include "ops.h"
#include "streams.h"

/* A step. */
typedef struct {
    int64_t draw;   /* what it draws: see ops.def */
    int64_t effect; /* what that does */
    int64_t shared; /* whether all tiles of a bag draw as one */
    int64_t cell;   /* pixels along each of the squares that it counts: those of a pair's coarsest grid */
    uint64_t hash;  /* of seed and label: where its Stream begins */
    uint64_t label; /* of the label: the key of its Philox, beside the seed */
    double p;       /* it acts where its first draw is below; of 1 and more it draws nothing for that */
    double arguments[DRAW_ARGUMENTS + EFFECT_ARGUMENTS]; /* of the draw, and behind them of the effect */
} Step;

/* Decodes what it is told of a file: pixels side by side, written one row behind the other. Answers 0, or says why not. */
typedef int32_t (*Decode)(const uint8_t *file, const void *told, void *memory, uint8_t *pixels, char *said);

enum { SAID = 256 }; /* bytes of what a decoder says, at most */

/* All that its samples share. */
typedef struct {
    uint64_t seed, epoch;
    int64_t channels;
    int64_t most; /* pixels that an image may have on its way */
    int64_t labels; /* whether its images are masks, of which each pixel is one that was there */
    int64_t type, down, across, apart; /* of a result: UINT8, FLOAT32(_FAR) or of labels INT64; its strides, in elements */
    float scale[MOST_CHANNELS], shift[MOST_CHANNELS];
    Decode decode; /* of files */
    void *memory;  /* that it works with */
    uint8_t *pixels; /* what it writes, `most_decoded` bytes: those of one sample at a time */
    int64_t most_decoded;
    uint8_t *scratch;
    int64_t workspace;
    const Step *steps;
    int64_t count;
    int64_t *spent; /* 0, or nanoseconds: of each step, and behind them of what comes last, and of decoding */
} Program;

/* One sample: an image of rows x columns, of which a part lies at `at`, its first pixel that of row `top` and column
   `left`. `step`: bytes from row to row; channels lie side by side, and so do pixels. Of a file that part is decoded first,
   and `at` counts from the first byte of `decoded` ones. */
typedef struct {
    uint64_t index, tile;
    int64_t rows, columns;
    const uint8_t *at;
    int64_t step, top, left;
    const uint8_t *file; /* 0: the image is in memory */
    const void *told;    /* what its decoder is to be told */
    int64_t decoded;
    void *target; /* of the result; 0: nothing is read or made, and what follows is said */
    int64_t height, width; /* of the result; where it has a target, what fits there: others are refused */
    int64_t window[4];     /* top, left, bottom, right of the pixels that are read */
    int64_t begin;         /* a step that was carried out elsewhere: the image is what it left; -1: none was */
    int64_t stop;          /* the step that it stops at, for albumentations, or -1; where it has a target, it has to */
    int64_t changed;       /* whether a step before that did anything */
    int64_t answer;        /* DONE, REFUSED, or how much workspace is needed */
    int64_t reduce;        /* where nothing is made yet 0: pixels may be read reduced, and it is said by how much; else what
                              `at` lies by: so many pixels, each way, as one */
    int64_t tall, wide;    /* rows and columns there, where that is more than 1 */
} Sample;

enum { IDLE = 1, UNLIKE = 1 }; /* of program_draws: the step does not act; of program: see there */

#endif
