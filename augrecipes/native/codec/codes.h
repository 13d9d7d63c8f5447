/* Tables of Huffman codes: what the next bits of a JPEG stand for, coefficient by coefficient or several together. */

#ifndef AUGRECIPES_CODES_H
#define AUGRECIPES_CODES_H

#include "said.h"

enum { LOOK = 11, BROAD = 12, LONGEST = 16 };      /* bits that tables are asked by, and of the longest code */
enum { WIDE = 14 };                                /* the most bits that are left out together */
enum { LAST = DCTSIZE2 - 1, BLOCK_END = 2 * DCTSIZE2 }; /* the last coefficient; how far a block's end is on */
enum { UNKNOWN = 255 };                                 /* further on than any: these bits do not say it all */

/* Codes of one table.

   look: what the next LOOK bits say of one coefficient, and of two where they say both, from the lowest bit on: 8 bits:
     how many are read; 8 bits: how many coefficients further on; 16 bits: the value of the last. Of one that is UNKNOWN:
     the length of the code, or 0 where it is longer; and behind that what it stands for.
   skip: by BROAD bits, of as many coefficients as they tell of: 8 bits: how many are read, with those that lie behind
     these; 8 bits: how many coefficients further on, at most LAST, and BLOCK_END more where the block ends; or UNKNOWN. */
struct huffman {
    struct entries {
        uint32_t one, two;
    } look[1 << LOOK];
    uint16_t skip[1 << BROAD];
    int32_t maxcode[LONGEST + 1];  /* the largest code of each length; -1: there is none */
    int32_t valoffset[LONGEST + 1]; /* of what a code stands for, less the code */
    JHUFF_TBL table;
    int ready; /* of that table */
};

/* A number of `size` bits, of which those below half of its range stand for negative ones. */
static inline int32_t extend_sign(int32_t bits, int32_t size) {
    return bits + ((bits << 1 >> size) - 1) * ((1 << size) - 1);
}

/* What the bits `seen` say: a code of `length` bits, that stands for `value`, and what follows it; of DC tables the code
   alone, since a block has one such value. */
static uint32_t look_entry(int32_t seen, int32_t length, int32_t value, int is_dc) {
    int32_t size = value & 15, run = value >> 4, all = length + size;
    if (all > LOOK || is_dc)
        return (uint32_t)(length | UNKNOWN << 8 | value << 16);
    if (!size)
        return (uint32_t)(all | (run == 15 ? 16 : BLOCK_END) << 8);
    int32_t number = extend_sign(seen >> (LOOK - all) & ((1 << size) - 1), size);
    return (uint32_t)(all | (run + 1) << 8) | (uint32_t)number << 16;
}

/* All that `seen` tells of the AC coefficients of a block, of which `code` tells by LOOK bits how long a code is, and by 8 bits more
   what it stands for. What a coefficient is nobody asks: bits of the last may lie behind. */
static uint16_t skip_entry(const uint16_t *code, uint32_t seen) {
    uint32_t used = 0, on = 0;
    while (on < BLOCK_END && used < BROAD) {
        uint32_t next = code[(seen << used & ((1 << BROAD) - 1)) >> (BROAD - LOOK)], length = next & 255;
        uint32_t size = next >> 8 & 15, run = next >> 12, further = size ? run + 1 : run == 15 ? 16 : BLOCK_END;
        if (!length || used + length > BROAD || used + length + size > WIDE || (further < BLOCK_END && on + further > LAST))
            break;
        used += length + size, on += further;
    }
    return (uint16_t)(used | (used ? on : UNKNOWN) << 8);
}

/* Make the tables of codes, unless they are there. */
static void build_tables(struct huffman *codes, const JHUFF_TBL *table, int is_dc) {
    int32_t code = 0, place = 0;
    uint16_t alone[1 << LOOK] = {0};
    if (codes->ready && !memcmp(codes->table.bits, table->bits, sizeof table->bits) &&
        !memcmp(codes->table.huffval, table->huffval, sizeof table->huffval))
        return;
    codes->table = *table, codes->ready = 1;
    for (int32_t seen = 0; seen < 1 << LOOK; seen++)
        codes->look[seen].one = UNKNOWN << 8;
    for (int32_t length = 1; length <= LONGEST; length++, code <<= 1) {
        int32_t count = table->bits[length];
        codes->valoffset[length] = place - code;
        for (int32_t k = 0; k < count && length <= LOOK; k++)
            for (int32_t i = 0; i < 1 << (LOOK - length); i++) {
                int32_t seen = ((code + k) << (LOOK - length)) + i;
                if (seen < 1 << LOOK && place + k < 256) {
                    codes->look[seen].one = look_entry(seen, length, table->huffval[place + k], is_dc);
                    alone[seen] = (uint16_t)(length | table->huffval[place + k] << 8);
                }
            }
        place += count, code += count;
        codes->maxcode[length] = count ? code - 1 : -1;
    }
    for (uint32_t seen = 0; seen < 1 << LOOK; seen++) {
        uint32_t one = codes->look[seen].one, used = one & 255, other = codes->look[seen << used & ((1 << LOOK) - 1)].one;
        int both = (one >> 8 & 255) < BLOCK_END && (other >> 8 & 255) <= BLOCK_END && used + (other & 255) <= LOOK;
        codes->look[seen].two = both ? other + (one & 0xffff) : one;
    }
    for (uint32_t seen = 0; seen < 1 << BROAD && !is_dc; seen++)
        codes->skip[seen] = skip_entry(alone, seen);
}

#endif
