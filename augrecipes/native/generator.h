/* numpy's default_rng(seed): SeedSequence and PCG64 XSL-RR (O'Neill 2014), many words at a time; normal numbers by
   its ziggurat of 256 strips (Marsaglia and Tsang 2000).

   A linear congruential state of 128 bits can jump ahead by any number of steps: SIDE_BY_SIDE interleaved states do
   not wait for each other. A table turns nearly all words into a number; numpy's own function handles the rest, on
   the same words, in order.

   Bits: numpy's, to the last one.
   Law: tests/laws/test_kernels.py (row `numpy_normals`). */

#pragma once

#include <string.h>

#include "kernels.h"
#include "streams.h"

__extension__ typedef unsigned __int128 Long;

enum { SIDE_BY_SIDE = 4, MANY = 512, STRIPS = 256 };

typedef struct {
    Long states[SIDE_BY_SIDE], times, added; /* the next ones; factor and addend that jump by SIDE_BY_SIDE */
    int64_t at;
    uint64_t words[MANY];
    int looked_up; /* whether the next two arrays are current */
    double numbers[MANY]; /* numbers of words in the fast path; which words are not in it */
    uint8_t hard[MANY];
} Generator;

static inline uint32_t scramble(uint32_t value, uint32_t *constant, uint32_t factor) {
    value ^= *constant;
    *constant *= factor;
    value *= *constant;
    return value ^ value >> 16;
}

/* SeedSequence(seed).generate_state(4) for a seed of 32 bits. */
static inline void seed_words(uint32_t seed, uint64_t to[4]) {
    uint32_t pool[4], constant = 0x43b0d7e5u, halves[8];
    for (int k = 0; k < 4; k++)
        pool[k] = scramble(k ? 0 : seed, &constant, 0x931e8875u);
    for (int from = 0; from < 4; from++)
        for (int k = 0; k < 4; k++)
            if (k != from) {
                uint32_t mixed = 0xca01f9ddu * pool[k] - 0x4973f715u * scramble(pool[from], &constant, 0x931e8875u);
                pool[k] = mixed ^ mixed >> 16;
            }
    constant = 0x8b51f9ddu;
    for (int k = 0; k < 8; k++)
        halves[k] = scramble(pool[k % 4], &constant, 0x58f38dedu);
    for (int k = 0; k < 4; k++)
        to[k] = (uint64_t)halves[2 * k + 1] << 32 | halves[2 * k];
}

static inline void begin_words(Generator *g, uint32_t seed) {
    uint64_t from[4];
    seed_words(seed, from);
    const Long times = (Long)0x2360ed051fc65da4u << 64 | 0x4385df649fccf645u, start = (Long)from[0] << 64 | from[1];
    const Long added = ((Long)from[2] << 64 | from[3]) << 1 | 1;
    Long state = (added + start) * times + added;
    g->times = 1, g->added = 0;
    for (int k = 0; k < SIDE_BY_SIDE; k++) {
        state = state * times + added;
        g->states[k] = state;
        g->added = g->added * times + added;
        g->times *= times;
    }
    g->at = MANY;
}

static inline void more_words(Generator *g) {
    Long states[SIDE_BY_SIDE];
    memcpy(states, g->states, sizeof states);
    for (int i = 0; i < MANY; i += SIDE_BY_SIDE)
        for (int k = 0; k < SIDE_BY_SIDE; k++) {
            uint64_t high = (uint64_t)(states[k] >> 64), both = high ^ (uint64_t)states[k];
            uint32_t by = (uint32_t)(high >> 58);
            g->words[i + k] = both >> by | both << (-by & 63);
            states[k] = states[k] * g->times + g->added;
        }
    memcpy(g->states, states, sizeof states);
    g->at = 0, g->looked_up = 0;
}

static inline uint64_t next_word_of(void *of) {
    Generator *g = of;
    if (g->at == MANY)
        more_words(g);
    return g->words[g->at++];
}

static inline double unit_of(uint64_t word) { return (double)(int64_t)(word >> 11) * 0x1p-53; }
static inline double next_unit_of(void *of) { return unit_of(next_word_of(of)); }

/* numpy's random_standard_normal; for each strip, the bound of its fast path and the factor there. */
typedef struct {
    Normal normal;
    const uint64_t *bounds;
    const double *widths;
} Ziggurat;

static inline void look_up_normals(Generator *g, const Ziggurat *z) {
    uint64_t bounds[MANY];
    for (int i = 0; i < MANY; i++) /* the look-up first, one by one, so that the rest vectorises */
        bounds[i] = z->bounds[g->words[i] & (STRIPS - 1)], g->numbers[i] = z->widths[g->words[i] & (STRIPS - 1)];
    for (int i = 0; i < MANY; i++) {
        uint64_t word = g->words[i], size = word >> 9 & 0xfffffffffffffu;
        int64_t signed_size = word & STRIPS ? -(int64_t)size : (int64_t)size;
        g->numbers[i] *= (double)signed_size;
        g->hard[i] = size >= bounds[i];
    }
    g->looked_up = 1;
}

/* Standard normal numbers. */
static inline void some_normals(Generator *g, const Ziggurat *z, double *to, int64_t count) {
    Words64 asked = {g, next_word_of, 0, next_unit_of, next_word_of};
    while (count > 0) {
        if (g->at == MANY)
            more_words(g);
        if (!g->looked_up)
            look_up_normals(g, z);
        int64_t some = MIN(MANY - g->at, count);
        const uint8_t *end = memchr(g->hard + g->at, 1, (size_t)some);
        int64_t easy = end ? end - (g->hard + g->at) : some;
        memcpy(to, g->numbers + g->at, (size_t)easy * sizeof *to);
        to += easy, count -= easy, g->at += easy;
        if (end)
            *to++ = z->normal(&asked), count--;
    }
}
