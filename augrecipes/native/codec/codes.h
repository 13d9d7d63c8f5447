/* Huffman codes of a JPEG: look-ahead tables that give a code and the value after it in one step. */

#pragma once

#include "messages.h"

enum { LOOK = 11, BROAD = 12, LONGEST = 16 }; /* index bits of `look` and of `skip`; bits of the longest code */
enum { WIDE = 19 };                           /* the most bits that one step consumes */
enum { LAST = DCTSIZE2 - 1 };                 /* index of the last coefficient */

/* How far a step advances in a block. The index has the bit UNKNOWN where the tables do not know, or would go beyond
   the last coefficient; it is BLOCK_END or more, without that bit, at the end of a block. */
enum { UNKNOWN = DCTSIZE2, BLOCK_END = 2 * DCTSIZE2 + 1 };

/* A step of one coefficient or two. */
struct look {
    uint8_t bits, on;  /* bits consumed, and the advance; if that is UNKNOWN, the length of the code or 0 */
    uint16_t mask;     /* of the last value, which is in the lowest of these bits */
    int16_t first;     /* the value of the first of two coefficients */
    uint16_t first_on; /* its advance, or UNKNOWN if there is only one */
};

/* The codes of one table. look: indexed by LOOK bits. skip: indexed by BROAD bits; an entry has the bits consumed (8
   bits, the lowest), the advance over as many coefficients as are known (8 bits), and the value of a DC table (16
   bits). */
struct huffman {
    struct look look[1 << LOOK];
    uint32_t skip[1 << BROAD];
    int32_t maxcode[LONGEST + 1];   /* the largest code of each length; -1: there is none */
    int32_t valoffset[LONGEST + 1]; /* index of the symbol, less the code */
    JHUFF_TBL table;
    int ready; /* whether the tables are those of `table` */
};

/* Sign-extend a number of `size` bits as T.81 does (EXTEND): values in the lower half are negative. */
static inline int32_t extend_sign(int32_t bits, int32_t size) {
    return bits + ((bits << 1 >> size) - 1) * ((1 << size) - 1);
}

/* The advance of a symbol: a DC value ends its part of a block. */
static inline uint32_t advance_of(uint32_t symbol, int is_dc) {
    uint32_t size = symbol & 15, run = symbol >> 4;
    return is_dc ? BLOCK_END : size ? run + 1 : run == 15 ? 16 : BLOCK_END;
}

/* The value of `size` bits that ends with the first `all` of BROAD bits. */
static int32_t value_in(uint32_t seen, uint32_t all, uint32_t size) {
    return size ? extend_sign((int32_t)(seen >> (BROAD - all) & ((1u << size) - 1)), (int32_t)size) : 0;
}

/* Make an entry of `look` for the bits `seen`; `codes`, indexed by BROAD bits, has the length of a code in 8 bits and
   its symbol in 8 bits more. */
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

/* Make an entry of `skip`: as many AC coefficients as BROAD bits hold, or a DC value. */
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

/* Make the tables of codes, unless they are current. */
static void build_tables(struct huffman *codes, const JHUFF_TBL *table, int is_dc) {
    int32_t code = 0, place = 0;
    uint16_t symbols[1 << BROAD] = {0}; /* indexed by BROAD bits: the length of a code, and its symbol in 8 bits */
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
