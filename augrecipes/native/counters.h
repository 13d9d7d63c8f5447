/* Counter-based random words: word i of a key is a hash of both, so that any of them can be computed, in any order. */

#pragma once

#include "lanes.h"

/* A key of 64 bits, unique to a sample and a step, in two halves. */
typedef struct {
    uint32_t one, two;
} Key;

enum { SOME = 256 }; /* numbers that are computed together: a multiple of 2 * LANES */

static inline Key key_of(int64_t key) { return (Key){(uint32_t)key, (uint32_t)((uint64_t)key >> 32)}; }

/* Hash some indices: two rounds of shift and multiply (Wellons's lowbias32), into which the key is added twice. */
static inline Words hashed(Key key, Words at) {
    at += key.one;
    at ^= key.two >> 16 | key.two << 16;
    at ^= at >> 16;
    at *= 0x7feb352du;
    at ^= at >> 15;
    at += key.two;
    at *= 0x846ca68bu;
    return at ^ at >> 16;
}

/* The words with the indices from `first` on. */
static inline Words words_from(Key key, uint32_t first) {
    Words at;
    for (int i = 0; i < LANES; i++)
        at[i] = (uint32_t)i;
    return hashed(key, at + first);
}
