/* Looks bytes up in tables of 256, many at a time where the processor has an instruction for that. */

#pragma once

#include <string.h>

#include "registers.h"

#if defined(X86)

/* Two loops around `looked_up`, which looks up the bytes of a register in a table of so many registers: one loop with
   a single table, one with three interleaved channels, where register k begins with the channel of byte k *
   sizeof(Register). Both return the number of bytes done. */
#define LOOPS(one_table, three_tables, target, registers, prepare, looked_up) \
    target static int64_t one_table(const uint8_t *from, int64_t length, const uint8_t *levels, uint8_t *to) { \
        Register table[registers], bytes; \
        int64_t x = 0; \
        prepare(levels, table); \
        for (; x + (int64_t)sizeof bytes <= length; x += sizeof bytes) { \
            memcpy(&bytes, from + x, sizeof bytes); \
            bytes = looked_up(table, bytes); \
            memcpy(to + x, &bytes, sizeof bytes); \
        } \
        return x; \
    } \
    target static int64_t three_tables(const uint8_t *from, int64_t length, const uint8_t (*levels)[LEVELS], uint8_t *to) { \
        Register tables[3][registers], masks[2], bytes; \
        uint8_t turns[2][sizeof bytes]; \
        int64_t x = 0; \
        for (int c = 0; c < 3; c++) \
            prepare(levels[c], tables[c]); \
        for (unsigned i = 0; i < sizeof bytes; i++) \
            turns[0][i] = i % 3 == 1 ? 255 : 0, turns[1][i] = i % 3 == 2 ? 255 : 0; \
        memcpy(masks, turns, sizeof masks); \
        for (; x + 3 * (int64_t)sizeof bytes <= length; x += 3 * sizeof bytes) \
            for (unsigned k = 0; k < 3; k++) { \
                const unsigned at = k * sizeof bytes; \
                memcpy(&bytes, from + x + at, sizeof bytes); \
                Register result = looked_up(tables[at % 3], bytes); \
                result = select_bytes(masks[0], looked_up(tables[(at + 1) % 3], bytes), result); \
                result = select_bytes(masks[1], looked_up(tables[(at + 2) % 3], bytes), result); \
                memcpy(to + x + at, &result, sizeof result); \
            } \
        return x; \
    }

/* A table for `shuffle_rows`: each row of sixteen levels holds the exclusive or with the row before it, since the
   shuffles of all rows up to that of a byte are combined (a shuffle gives 0 for a negative index). */
static inline void rows_of_levels(const uint8_t *levels, Register *table) {
    for (int k = 0; k < 16; k++) {
        __m128i row = _mm_loadu_si128((const __m128i *)(levels + 16 * k));
        if (k % 8)
            row = _mm_xor_si128(row, _mm_loadu_si128((const __m128i *)(levels + 16 * k - 16)));
        table[k] = repeat(row);
    }
}

static inline __attribute__((always_inline)) Register shuffle_rows(const Register *table, Register bytes) {
    Register low = {0}, high = low, at = bytes & X86(set1_epi8)(127);
    for (int k = 0; k < 8; k++) {
        low ^= X86(shuffle_epi8)(table[k], at), high ^= X86(shuffle_epi8)(table[8 + k], at);
        at = X86(sub_epi8)(at, X86(set1_epi8)(16));
    }
    return select_bytes(bytes, high, low);
}

LOOPS(look_up_some, look_up_three, , 16, rows_of_levels, shuffle_rows)
#endif

#if defined(__AVX512BW__)
#define VBMI __attribute__((target("avx512vbmi")))
extern int32_t ar_shuffles_bytes; /* whether the processor permutes the bytes of whole registers (VBMI): see machine.c */

VBMI static inline void load_table(const uint8_t *levels, Register *table) { memcpy(table, levels, LEVELS); }

VBMI static inline Register permute_table(const Register *table, Register bytes) {
    Register low = _mm512_permutex2var_epi8(table[0], bytes, table[1]);
    return select_bytes(bytes, _mm512_permutex2var_epi8(table[2], bytes, table[3]), low);
}

LOOPS(permute_some, permute_three, VBMI, 4, load_table, permute_table)
#define BY_REGISTERS(shuffles, permutes) (ar_shuffles_bytes ? (permutes) : (shuffles))
#else
#define BY_REGISTERS(shuffles, permutes) (shuffles)
#endif

enum { TOGETHER = 96, PART = 32 }; /* bytes at a time: a multiple of three channels */
typedef uint8_t Part __attribute__((vector_size(PART)));

/* Tables that are the identity, its complement or a constant need only masks: returns the number of bytes done, 0 for
   other tables. */
static inline int64_t masked(const uint8_t *from, int64_t length, int64_t channels, const uint8_t (*levels)[LEVELS],
                             int alike, uint8_t *to) {
    uint8_t keeps[TOGETHER], turns[TOGETHER];
    int64_t x = 0;
    if (!alike && channels != 3)
        return 0;
    for (int c = 0; c < 3; c++) {
        const uint8_t *table = levels[alike ? 0 : c];
        int kept = 1, one = 1;
        for (int k = 0; k < LEVELS; k++)
            kept &= (table[k] ^ table[0]) == k, one &= table[k] == table[0];
        if (!one && !(kept && (table[0] == 0 || table[0] == LEVELS - 1)))
            return 0;
        for (int i = c; i < TOGETHER; i += 3)
            keeps[i] = one ? 0 : LEVELS - 1, turns[i] = table[0];
    }
    Part keep[TOGETHER / PART], turn[TOGETHER / PART], some;
    memcpy(keep, keeps, TOGETHER), memcpy(turn, turns, TOGETHER);
    for (; x + TOGETHER <= length; x += TOGETHER)
        for (int k = 0; k < TOGETHER / PART; k++) {
            memcpy(&some, from + x + PART * k, PART);
            some = (some & keep[k]) ^ turn[k];
            memcpy(to + x + PART * k, &some, PART);
        }
    return x;
}

/* Look up interleaved channels, each in its table; `alike`: all tables are the same. `to` may be `from`. */
static inline void look_up(const uint8_t *from, int64_t length, int64_t channels, const uint8_t (*levels)[LEVELS],
                           int alike, uint8_t *to) {
    int64_t x = masked(from, length, channels, levels, alike, to);
#if defined(X86)
    if (alike && !x)
        x = BY_REGISTERS(look_up_some, permute_some)(from, length, levels[0], to);
    else if (channels == 3 && !x)
        x = BY_REGISTERS(look_up_three, permute_three)(from, length, levels, to);
#endif
    for (; x < length && alike; x++)
        to[x] = levels[0][from[x]];
    for (; x < length; x += channels)
        for (int64_t c = 0; c < channels; c++)
            to[x + c] = levels[c][from[x + c]];
}
