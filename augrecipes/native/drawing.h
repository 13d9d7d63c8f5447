/* What a step that draws has: its generators, and the image that it sees. */

#pragma once

#include <math.h>

#include "kernels.h"
#include "layout.h"
#include "streams.h"

typedef struct {
    Stream stream;
    Philox philox;
    int64_t rows, columns, channels;
    uint64_t here; /* 64 bits that are the step's and the sample's alone: where the Stream begins */
} Drawing;

static inline Drawing keyed_drawing(const Program *program, const Step *step, const Sample *s, uint64_t hash,
                                    uint64_t tile) {
    uint64_t here = splitmix64(step->hash ^ hash);
    return (Drawing){stream_at(here), philox_at(program->seed, step->label, tile, program->epoch, s->index), s->rows,
                     s->columns, program->channels, here};
}

static uint64_t next_word(void *of) { return philox_word(of); }
static uint32_t next_half(void *of) { return philox_half(of); }
static double next_unit(void *of) { return philox_unit(of); }

static inline Words64 words_of(Drawing *d) {
    return (Words64){&d->philox, next_word, next_half, next_unit, next_word};
}

static inline Normal normal_of(double address) { return normal_at((const void *)(uintptr_t)address); }
