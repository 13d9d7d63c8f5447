/* Counter-based random numbers: those of a step in a sample depend on its key alone, not on earlier draws.

   `Stream` is SplitMix64 (Steele, Lea and Flood 2014) with the interface of random.Random (CounterRandom in
   compiler/run/draws.py); `Philox` is Philox4x64-10 (Salmon et al. 2011) with that of numpy's Generator
   (KeyedGenerator): Lemire's bounded integers, Floyd's sampling without replacement, the Fisher-Yates shuffle, to the
   last bit. */

#pragma once

#include <stdint.h>
#include <string.h>

#define GOLDEN 0x9E3779B97F4A7C15u

/* SplitMix64's finaliser. */
static inline uint64_t splitmix64(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Mix one more integer into a hash, as seeds.mix does. */
static inline uint64_t hash_with(uint64_t state, uint64_t value) { return splitmix64(state * 3 + GOLDEN + value); }

/* The words of random.Random; `next` is the next one. */
typedef struct {
    uint64_t state, next;
} Stream;

static inline Stream stream_at(uint64_t state) { return (Stream){state, state}; }

static inline uint64_t stream_word(Stream *s) {
    uint64_t found = s->next;
    s->state += GOLDEN;
    s->next = splitmix64(s->state);
    return found;
}

/* random(): in [0, 1). */
static inline double stream_unit(Stream *s) { return (double)(stream_word(s) >> 11) * 0x1p-53; }

/* uniform(low, high). */
static inline double stream_uniform(Stream *s, double low, double high) { return low + (high - low) * stream_unit(s); }

/* An integer in [0, n), n below 2^32: the upper half of a word times n. */
static inline int64_t stream_below(Stream *s, int64_t n) {
    uint64_t x = stream_word(s), m = (uint64_t)n;
    return (int64_t)(((x >> 32) * m + ((x & 0xffffffff) * m >> 32)) >> 32);
}

/* randint(low, high), both inclusive. */
static inline int64_t stream_randint(Stream *s, int64_t low, int64_t high) { return low + stream_below(s, high - low + 1); }

/* numpy's generator over Philox4x64-10. */
typedef struct {
    uint64_t key[2], counter[4], words[4];
    int at, kept;
    uint32_t half;
} Philox;

static inline Philox philox_at(uint64_t seed, uint64_t site, uint64_t tile, uint64_t epoch, uint64_t index) {
    return (Philox){.key = {seed, site}, .counter = {0, tile, epoch, index}, .at = 4};
}

static inline uint64_t product(uint64_t a, uint64_t b, uint64_t *high) {
    unsigned __int128 whole = (unsigned __int128)a * b;
    *high = (uint64_t)(whole >> 64);
    return (uint64_t)whole;
}

static inline uint64_t philox_word(Philox *n) {
    if (n->at < 4)
        return n->words[n->at++];
    for (int k = 0; k < 4 && !++n->counter[k]; k++)
        ;
    uint64_t a = n->counter[0], b = n->counter[1], c = n->counter[2], d = n->counter[3];
    uint64_t one = n->key[0], two = n->key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t up, down, low = product(0xD2E7470EE14C6C93u, a, &up), last = product(0xCA5A826395121157u, c, &down);
        a = down ^ b ^ one, b = last, c = up ^ d ^ two, d = low;
        one += 0x9E3779B97F4A7C15u, two += 0xBB67AE8584CAA73Bu;
    }
    n->words[0] = a, n->words[1] = b, n->words[2] = c, n->words[3] = d;
    n->at = 1;
    return a;
}

/* 32 bits: the lower half of a word, then its upper half. */
static inline uint32_t philox_half(Philox *n) {
    if (n->kept)
        return n->kept = 0, n->half;
    uint64_t whole = philox_word(n);
    n->kept = 1, n->half = (uint32_t)(whole >> 32);
    return (uint32_t)whole;
}

/* Generator.integers(0, n), n from 1 to 2^32, by Lemire's method, which rejects words that would bias the result. */
static inline int64_t philox_integer(Philox *n, uint32_t count) {
    if (count == 1)
        return 0;
    uint64_t m = (uint64_t)philox_half(n) * count;
    if ((uint32_t)m < count) {
        uint32_t least = (uint32_t)(UINT32_MAX - (count - 1)) % count;
        while ((uint32_t)m < least)
            m = (uint64_t)philox_half(n) * count;
    }
    return (int64_t)(m >> 32);
}

/* Generator.random(): in [0, 1). */
static inline double philox_unit(Philox *n) { return (double)(philox_word(n) >> 11) * 0x1p-53; }

/* Generator.uniform(low, high). */
static inline double philox_uniform(Philox *n, double low, double high) { return low + (high - low) * philox_unit(n); }

/* Generator.shuffle of a list shorter than 2^32. */
static inline void philox_shuffle(Philox *n, double *list, int count) {
    for (int i = count - 1; i > 0; i--) {
        uint32_t mask = (uint32_t)i, found;
        for (int k = 1; k < 32; k *= 2)
            mask |= mask >> k;
        do
            found = philox_half(n) & mask;
        while (found > (uint32_t)i);
        double other = list[i];
        list[i] = list[found], list[found] = other;
    }
}

/* Generator.choice(most, count, replace=False), both below 10,000, by Floyd's method and a shuffle with integers.
   Then those whose bits are in `kept` are sorted among each other. */
static inline void philox_choice(Philox *n, int most, int count, uint32_t kept, double *to) {
    for (int k = 0; k < count; k++) {
        double last = most - count + k, found = (double)philox_integer(n, (uint32_t)last + 1);
        for (int i = 0; i < k; i++)
            if (to[i] == found) {
                found = last;
                break;
            }
        to[k] = found;
    }
    for (int i = count - 1; i > 0; i--) {
        int k = (int)philox_integer(n, (uint32_t)i + 1);
        double other = to[i];
        to[i] = to[k], to[k] = other;
    }
    for (int i = 0; kept && i < count; i++)
        for (int k = i + 1; k < count; k++)
            if (kept >> (int)to[i] & kept >> (int)to[k] & 1 && to[i] > to[k]) {
                double other = to[k];
                to[k] = to[i], to[i] = other;
            }
}

/* The bitgen_t of numpy's C functions, which need not call all of it. */
typedef struct {
    void *state;
    uint64_t (*next_uint64)(void *);
    uint32_t (*next_uint32)(void *);
    double (*next_double)(void *);
    uint64_t (*next_raw)(void *);
} Words64;

typedef double (*Normal)(Words64 *); /* numpy's random_standard_normal */

static inline Normal normal_at(const void *address) {
    Normal found;
    memcpy(&found, &address, sizeof found);
    return found;
}
