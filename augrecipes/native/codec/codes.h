/* Huffman codes of a JPEG: tables of what the next bits stand for, a code and its value together. */

#pragma once

#include "messages.h"

enum { LOOK = 11, BROAD = 12, LONGEST = 16 }; /* bits that tables are asked by, and of the longest code */
enum { WIDE = 19 };                           /* the most bits that are read together */
enum { LAST = DCTSIZE2 - 1 };                 /* the last coefficient */

/* How far on in the block: to an index that has the bit UNKNOWN where the tables do not tell, or tell of coefficients
   beyond the last; to one of BLOCK_END and more, without that bit, where the block ends. */
enum { UNKNOWN = DCTSIZE2, BLOCK_END = 2 * DCTSIZE2 + 1 };

/* What bits say of one coefficient, or of two. */
struct look {
    uint8_t bits, on;  /* how many are read together, and how far on that is; of UNKNOWN the length of the code, or 0 */
    uint16_t mask;     /* of the last value, which the last of these bits are */
    int16_t first;     /* the value of the first of two */
    uint16_t first_on; /* how far on that is, else UNKNOWN */
};

/* Codes of one table. look: by LOOK bits. skip: by BROAD bits, from the lowest bit on, 8 bits: how many are read; 8
   bits: how far on that is, over as many coefficients as they tell of; 16 bits: the value of a DC table. */
struct huffman {
    struct look look[1 << LOOK];
    uint32_t skip[1 << BROAD];
    int32_t maxcode[LONGEST + 1];   /* the largest code of each length; -1: there is none */
    int32_t valoffset[LONGEST + 1]; /* of what a code stands for, less the code */
    JHUFF_TBL table;
    int ready; /* of that table */
};

/* A number of `size` bits, of which those below half of its range stand for negative ones. */
static inline int32_t extend_sign(int32_t bits, int32_t size) {
    return bits + ((bits << 1 >> size) - 1) * ((1 << size) - 1);
}

/* How far on a symbol leads: a DC value ends its part of a block. */
static inline uint32_t advance_of(uint32_t symbol, int is_dc) {
    uint32_t size = symbol & 15, run = symbol >> 4;
    return is_dc ? BLOCK_END : size ? run + 1 : run == 15 ? 16 : BLOCK_END;
}

/* The value that the first `all` of BROAD bits end with. */
static int32_t value_in(uint32_t seen, uint32_t all, uint32_t size) {
    return size ? extend_sign((int32_t)(seen >> (BROAD - all) & ((1u << size) - 1)), (int32_t)size) : 0;
}

/* What the first LOOK of the bits `seen` say; `codes` tell by BROAD bits how long a code is, and by 8 bits more what it
   stands for. */
static struct look look_entry(const uint16_t *codes, uint32_t seen, int is_dc) {
    uint32_t first = codes[seen], length = first & 255, size = first >> 8 & 15, all = length + size;
    if (!length || length > LOOK || all > WIDE)
        return (struct look){length > LOOK ? 0 : (uint8_t)length, UNKNOWN, 0, 0, UNKNOWN};
    uint32_t on = advance_of(first >> 8, is_dc);
    uint32_t second = on < UNKNOWN && all < LOOK ? codes[seen << all & ((1 << BROAD) - 1)] : 0;
    uint32_t more = (second & 255) + (second >> 8 & 15);
    if (!second || all + (second & 255) > LOOK || all + more > WIDE)
        return (struct look){(uint8_t)all, (uint8_t)on, (uint16_t)((1 << size) - 1), 0, UNKNOWN};
    return (struct look){(uint8_t)(all + more), (uint8_t)(on + advance_of(second >> 8, 0)),
                         (uint16_t)((1 << (second >> 8 & 15)) - 1), (int16_t)value_in(seen, all, size), (uint16_t)on};
}

/* All that BROAD bits tell of the AC coefficients of a block, or of its DC value. */
static uint32_t skip_entry(const uint16_t *codes, uint32_t seen, int is_dc) {
    uint32_t used = 0, on = 0;
    while (on < BLOCK_END && used < BROAD) {
        uint32_t next = codes[seen << used & ((1 << BROAD) - 1)], length = next & 255, size = next >> 8 & 15;
        uint32_t further = advance_of(next >> 8, is_dc), all = used + length + size;
        if (is_dc && length && all <= BROAD)
            return all | further << 8 | (uint32_t)value_in(seen, all, size) << 16;
        if (is_dc || !length || used + length > BROAD || all > WIDE || (further < BLOCK_END && on + further > LAST))
            break;
        used = all, on += further;
    }
    return used | (used ? on : UNKNOWN) << 8;
}

/* Make the tables of codes, unless they are there. */
static void build_tables(struct huffman *codes, const JHUFF_TBL *table, int is_dc) {
    int32_t code = 0, place = 0;
    uint16_t symbols[1 << BROAD] = {0}; /* by BROAD bits: the length of a code, and 8 bits of what it stands for */
    if (codes->ready && !memcmp(codes->table.bits, table->bits, sizeof table->bits) &&
        !memcmp(codes->table.huffval, table->huffval, sizeof table->huffval))
        return;
    codes->table = *table, codes->ready = 1;
    for (int32_t length = 1; length <= LONGEST; length++, code <<= 1) {
        int32_t count = table->bits[length];
        codes->valoffset[length] = place - code;
        for (int32_t k = 0; k < count && length <= BROAD && place + k < 256; k++)
            for (int32_t i = 0; i < 1 << (BROAD - length); i++) {
                int32_t seen = ((code + k) << (BROAD - length)) + i;
                if (seen < 1 << BROAD)
                    symbols[seen] = (uint16_t)(length | table->huffval[place + k] << 8);
            }
        place += count, code += count;
        codes->maxcode[length] = count ? code - 1 : -1;
    }
    for (uint32_t seen = 0; seen < 1 << BROAD; seen++) {
        codes->look[seen >> (BROAD - LOOK)] = look_entry(symbols, seen, is_dc);
        codes->skip[seen] = skip_entry(symbols, seen, is_dc);
    }
}
