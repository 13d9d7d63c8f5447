/* The state with which a step draws: its generators, and the size of the image. */

#pragma once

#include <math.h>

#include "kernels.h"
#include "layout.h"
#include "streams.h"

typedef struct {
    Stream stream;
    Philox philox;
    int64_t rows, columns, channels;
    uint64_t here; /* 64 bits unique to the step and the sample: where the Stream begins */
    int alternates; /* whether draws alternate from epoch to epoch: `here` decides all of them */
} Drawing;

/* A step that alternates starts as in epoch 0, and its first word advances by `turn`, an equal share of all words,
   from epoch to epoch. */
static inline Drawing keyed_drawing(const Program *program, const Step *step, const Sample *s) {
    uint64_t tile = step->shared ? 0 : s->tile, epoch = step->turn ? 0 : program->epoch;
    uint64_t hash = hash_with(hash_with(hash_with(GOLDEN, epoch), s->index), tile);
    uint64_t here = splitmix64(step->hash ^ hash) + program->epoch * step->turn;
    return (Drawing){stream_at(here), philox_at(program->seed, step->label, tile, epoch, s->index), s->rows,
                     s->columns, program->channels, here, step->turn != 0};
}

static uint64_t next_word(void *of) { return philox_word(of); }
static uint32_t next_half(void *of) { return philox_half(of); }
static double next_unit(void *of) { return philox_unit(of); }

static inline Words64 words_of(Drawing *d) {
    return (Words64){&d->philox, next_word, next_half, next_unit, next_word};
}

static inline Normal normal_of(double address) { return normal_at((const void *)(uintptr_t)address); }
