/* Cursors: positions in a scan, moved on without a branch that depends on the data. Two of them, advanced in turns,
   keep the processor busy while one waits for its tables. */

#pragma once

#include "codes.h"

#define SELDOM __attribute__((noinline)) /* kept out of the loops: rare cases */
#define INLINE static inline __attribute__((always_inline))
enum { AT_HAND = 57 }; /* bits, at least, that are available after `load` */

/* A decoded block; of a skipped one only the first SKIPPED bytes exist. */
struct block {
    uint32_t begin;         /* its first bit in the stream */
    JCOEF values[DCTSIZE2]; /* the first is the difference to the DC value of the previous block of the component */
};
enum { STORED = sizeof(struct block), SKIPPED = 2 * sizeof(uint32_t) };

/* A part of a block, its DC value or its AC coefficients: the codes, and the distance in bytes to the next part and
   to the next block. */
struct part {
    const struct huffman *codes;
    int64_t next, block;
};

/* The bytes of a scan without stuffing; zeros follow after `last`. */
struct stream {
    const uint8_t *bytes;
    uint64_t last;
};

/* The state of a cursor. */
struct cursor {
    uint64_t next, at; /* loaded bits, the next one highest, and its number in the stream */
    uint64_t k;        /* index of the last decoded coefficient */
    uint8_t *block;    /* the next block whose DC value is read */
    const uint8_t *part;
    uint8_t *first, *limit; /* the first block, and the last one that is wanted now */
    uint8_t *bad, *clean;   /* the block after a damaged one, or NULL; where the cleared blocks end */
};

/* Offsets of coefficients, in zigzag order, from the DC value of the next block; those beyond the last are written
   there. */
static const int8_t PLACES[256] = {
    0,   -65, -58, -50, -57, -64, -63, -56, -49, -42, -34, -41, -48, -55, -62, -61, -54, -47, -40, -33, -26, -18,
    -25, -32, -39, -46, -53, -60, -59, -52, -45, -38, -31, -24, -17, -10, -9,  -16, -23, -30, -37, -44, -51, -43,
    -36, -29, -22, -15, -8,  -7,  -14, -21, -28, -35, -27, -20, -13, -6,  -5,  -12, -19, -11, -4,  -3};

INLINE uint64_t eight_bytes(const uint8_t *at) {
    return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 | (uint64_t)at[3] << 32 |
           (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 | (uint64_t)at[6] << 8 | (uint64_t)at[7];
}

/* Load at least AT_HAND bits. */
INLINE void load(struct cursor *c, const struct stream *s) {
    uint64_t byte = c->at >> 3;
    c->next = eight_bytes(s->bytes + (byte < s->last ? byte : s->last)) << (c->at & 7);
}

INLINE uint64_t rotated(uint64_t bits, uint64_t count) { return bits << (count & 63) | bits >> (-count & 63); }

INLINE void skip_bits(struct cursor *c, uint64_t count) { c->next = rotated(c->next, count), c->at += count; }

/* Stop after the last sound block. */
static void damage(struct cursor *c, int64_t is_dc) {
    if (!c->bad)
        c->bad = c->block + is_dc, c->limit = c->first - 1;
}

/* Decode a symbol that is not in the tables; returns the advance. */
static SELDOM uint64_t step_slowly(struct cursor *c, const struct stream *s, int store, int64_t is_dc) {
    const struct huffman *codes = ((const struct part *)c->part)->codes;
    load(c, s);
    struct look look = codes->look[c->next >> (64 - LOOK)];
    int32_t length = look.on != UNKNOWN ? 1 : look.bits ? look.bits : LOOK + 1, code = 0;
    for (; length <= LONGEST && (code = (int32_t)(c->next >> (64 - length))) > codes->maxcode[length]; length++)
        ;
    if (length > LONGEST) {
        damage(c, is_dc);
        return c->k;
    }
    uint32_t symbol = codes->table.huffval[(code + codes->valoffset[length]) & 255], size = symbol & 15;
    skip_bits(c, (uint32_t)length);
    int32_t number = extend_sign((int32_t)(c->next >> 1 >> (63 - size)), (int32_t)size);
    skip_bits(c, size);
    load(c, s);
    uint64_t k = c->k + advance_of(symbol, is_dc != 0);
    if (k > LAST && k < BLOCK_END && size)
        damage(c, is_dc);
    JCOEF *values = ((struct block *)c->block)->values;
    if (is_dc)
        *values = (JCOEF)number;
    else if (store && size)
        values[PLACES[k]] = (JCOEF)number;
    return k;
}

/* Decode what the tables know of the next bits: one coefficient or two, or as many as are skipped together. */
INLINE void step(struct cursor *c, const struct stream *s, int store) {
    const struct part *part = (const struct part *)c->part;
    const struct huffman *codes = part->codes;
    struct block *block = (struct block *)c->block;
    uint64_t k, bits;
    block->begin = (uint32_t)c->at;
    if (store) {
        struct look look = codes->look[c->next >> (64 - LOOK)];
        uint64_t value = rotated(c->next, look.bits) & look.mask;
        block->values[PLACES[c->k + look.first_on]] = look.first;
        k = c->k + look.on, bits = look.bits;
        block->values[PLACES[k]] = (JCOEF)(value - (value > look.mask >> 1 ? 0 : look.mask));
    } else {
        uint32_t said = codes->skip[c->next >> (64 - BROAD)];
        k = c->k + (said >> 8 & 255), bits = said & 255;
        block->values[0] = (JCOEF)(said >> 16);
    }
    if (__builtin_expect(k & UNKNOWN, 0)) {
        struct cursor other = *c;
        k = step_slowly(&other, s, store, part->block);
        *c = other;
    } else
        skip_bits(c, bits);
    int64_t done = (int64_t)(LAST - 1 - k) >> 63; /* all ones at the end of a part */
    c->part += part->next & done;
    c->block += part->block & done;
    c->k = k & (uint64_t)~done;
}

/* Decode until either cursor is past its last block; b may be NULL. */
INLINE void read_blocks(struct cursor *a, struct cursor *b, const struct stream *stream, int store) {
    struct stream s = *stream;
    struct cursor x = *a, y = *(b ? b : a);
    while (x.block <= x.limit && (!b || y.block <= y.limit)) {
        load(&x, &s);
        if (b)
            load(&y, &s);
        for (int k = AT_HAND / WIDE; k; k--) {
            step(&x, &s, store);
            if (b)
                step(&y, &s, store);
        }
    }
    *a = x;
    if (b)
        *b = y;
}

static SELDOM void read_on(struct cursor *a, struct cursor *b, const struct stream *s, int store) {
    if (store && b)
        read_blocks(a, b, s, 1);
    else if (b)
        read_blocks(a, b, s, 0);
    else if (store)
        read_blocks(a, NULL, s, 1);
    else
        read_blocks(a, NULL, s, 0);
}
