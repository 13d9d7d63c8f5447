/* Coefficients of baseline JPEGs, read in place of libjpeg's own entropy decoder, whose place is taken by a function.

   A table says of the next bits which coefficient they are, and how far on in the block; of blocks that nobody looks at,
   which are only read for what follows them, another one says so of several coefficients together. Where anything is
   not as it should be, libjpeg's error is raised: who called then has the file judged by other means. */

#ifndef AUGRECIPES_HUFFMAN_H
#define AUGRECIPES_HUFFMAN_H

#include "said.h"

enum { LOOK = 10, BROAD = 12, LONGEST = 16 };         /* bits that tables are asked by, and of the longest code */
enum { LAST = DCTSIZE2 - 1, ENDS = 2 * DCTSIZE2 }; /* the last coefficient; how far a block's end is on */
enum { FULL = 56 };                                /* bits that are at hand once they are filled up */

/* Codes of one table.

   one: by the next bits, from the lowest on: 8 bits: how many are read, 0 where they do not say it all; 8 bits: how many
     coefficients further on; 16 bits: its value, where it is not zero. Of those that do not: 0; the length of the code,
     or 0 where it is longer; what it stands for.
   some: of all that these bits hold: 4 bits: how many are read; 1: whether the block ends; how many coefficients further
     on. */
struct codes {
    uint32_t one[1 << LOOK];
    uint16_t some[1 << BROAD];
    int32_t most[LONGEST + 1];  /* the largest code of each length; -1: there is none */
    int32_t place[LONGEST + 1]; /* of what a code stands for, less the code */
    JHUFF_TBL table;
    int made; /* of that table */
};

/* Bits, the next one highest. */
struct bits {
    const uint8_t *at, *end; /* bytes that are not read yet */
    uint64_t next;
    int32_t count, made; /* how many; how many of them stand for bytes that are not there */
};

/* Where reading stands. */
struct coded {
    j_decompress_ptr jpeg;
    const uint8_t *begin;
    struct bits bits;
    int32_t levels[MAX_COMPS_IN_SCAN]; /* of the last block of each component */
    uint32_t column, first, last;      /* of units: the next, and those that are looked at */
    uint32_t left, marker;             /* units until the next restart marker, and its number */
    struct codes levels_of[NUM_HUFF_TBLS], waves_of[NUM_HUFF_TBLS];
};

/* The beginning of libjpeg's entropy decoder, of which its header says nothing. */
struct jpeg_entropy_decoder {
    void (*start_pass)(j_decompress_ptr);
    boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW *);
};

static const uint8_t PLACES[DCTSIZE2] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* A number of `size` bits, of which those below half of its range stand for negative ones. */
static inline int32_t extended(int32_t bits, int32_t size) {
    return bits < 1 << (size - 1) ? bits - (1 << size) + 1 : bits;
}

/* What the bits `seen` say: a code of `length` bits, that stands for `value`, and what follows it. */
static uint32_t told(int32_t seen, int32_t length, int32_t value, int is_level) {
    int32_t size = value & 15, run = is_level ? 0 : value >> 4, all = length + size;
    if (all > LOOK)
        return (uint32_t)(length << 8 | value << 16);
    if (!size)
        return (uint32_t)(all | (is_level ? 0 : run == 15 ? 16 : ENDS) << 8);
    int32_t number = extended(seen >> (LOOK - all) & ((1 << size) - 1), size);
    return (uint32_t)(all | (run + 1) << 8) | (uint32_t)number << 16;
}

/* All that `seen` holds of the waves of a block. */
static uint16_t told_together(const uint32_t *one, uint32_t seen) {
    uint32_t used = 0, on = 0;
    for (;;) {
        uint32_t next = one[(seen << used & ((1 << BROAD) - 1)) >> (BROAD - LOOK)], length = next & 255;
        uint32_t further = next >> 8 & 255;
        if (!length || used + length > BROAD)
            return (uint16_t)(used | on << 5);
        used += length;
        if (further == ENDS)
            return (uint16_t)(used | 16 | on << 5);
        on += further;
    }
}

/* Make the tables of codes, unless they are there. */
static void prepare(struct codes *codes, const JHUFF_TBL *table, int is_level) {
    int32_t code = 0, place = 0;
    if (codes->made && !memcmp(codes->table.bits, table->bits, sizeof table->bits) &&
        !memcmp(codes->table.huffval, table->huffval, sizeof table->huffval))
        return;
    codes->table = *table, codes->made = 1;
    memset(codes->one, 0, sizeof codes->one);
    for (int32_t length = 1; length <= LONGEST; length++, code <<= 1) {
        int32_t count = table->bits[length];
        codes->place[length] = place - code;
        for (int32_t k = 0; k < count && length <= LOOK; k++)
            for (int32_t i = 0; i < 1 << (LOOK - length); i++) {
                int32_t seen = ((code + k) << (LOOK - length)) + i;
                if (seen < 1 << LOOK && place + k < 256)
                    codes->one[seen] = told(seen, length, table->huffval[place + k], is_level);
            }
        place += count, code += count;
        codes->most[length] = count ? code - 1 : -1;
    }
    for (uint32_t seen = 0; seen < 1 << BROAD && !is_level; seen++)
        codes->some[seen] = told_together(codes->one, seen);
}

static inline int has_255(uint64_t bytes) {
    return (((bytes & 0x7f7f7f7f7f7f7f7f) + 0x0101010101010101) & bytes & 0x8080808080808080) != 0;
}

static inline uint64_t eight_bytes(const uint8_t *at) {
    return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 | (uint64_t)at[3] << 32 |
           (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 | (uint64_t)at[6] << 8 | (uint64_t)at[7];
}

/* One byte after another, zeros where a marker stands or nothing is left. */
static void fill_slowly(struct bits *b) {
    while (b->count < FULL) {
        uint64_t byte = 0;
        if (b->at < b->end && *b->at != 0xff)
            byte = *b->at++;
        else if (b->end - b->at >= 2 && !b->at[1])
            byte = 0xff, b->at += 2;
        else
            b->made += 8;
        b->next |= byte << (56 - b->count);
        b->count += 8;
    }
}

/* At least FULL bits. */
static inline void fill(struct bits *b) {
    uint64_t bytes = b->end - b->at >= 8 ? eight_bytes(b->at) : ~0ull;
    if (has_255(bytes)) {
        fill_slowly(b);
        return;
    }
    b->next |= bytes >> b->count;
    b->at += (63 - b->count) >> 3;
    b->count |= FULL;
}

static inline void drop(struct bits *b, int32_t count) { b->next <<= count, b->count -= count; }

static inline int32_t taken(struct bits *b, int32_t count) {
    int32_t found = (int32_t)(b->next >> 32 >> (32 - count));
    drop(b, count);
    return found;
}

/* What the next code stands for, of which the table `one` has `said` no more than how long it is, if that. */
static int32_t meant(j_decompress_ptr jpeg, struct bits *b, const struct codes *codes, uint32_t said) {
    int32_t length = (int32_t)(said >> 8 & 255);
    if (length) {
        drop(b, length);
        return (int32_t)(said >> 16);
    }
    for (length = LOOK + 1; length <= LONGEST; length++) {
        int32_t code = (int32_t)(b->next >> (64 - length));
        if (code <= codes->most[length]) {
            drop(b, length);
            return codes->table.huffval[(code + codes->place[length]) & 255];
        }
    }
    ERREXIT(jpeg, JERR_BAD_STATE);
    return 0;
}

/* The level of the next block, of at most 31 bits. */
static inline int32_t level(j_decompress_ptr jpeg, struct bits *b, const struct codes *codes, int32_t before) {
    uint32_t said = codes->one[b->next >> (64 - LOOK)];
    int32_t number = (int32_t)said >> 16;
    if (said & 255) {
        drop(b, (int32_t)(said & 255));
    } else {
        int32_t size = meant(jpeg, b, codes, said) & 15;
        number = size ? extended(taken(b, size), size) : 0;
    }
    number += before;
    if (number != (JCOEF)number)
        ERREXIT(jpeg, JERR_BAD_STATE);
    return number;
}

/* One wave, or the end: how far on the last one is then; where there is a block, its coefficient. At most 31 bits. */
static inline int32_t wave(j_decompress_ptr jpeg, struct bits *b, const struct codes *codes, int32_t at, JCOEF *block) {
    uint32_t said = codes->one[b->next >> (64 - LOOK)];
    int32_t number = (int32_t)said >> 16;
    if (said & 255) {
        drop(b, (int32_t)(said & 255));
        at += (int32_t)(said >> 8 & 255);
    } else {
        int32_t value = meant(jpeg, b, codes, said), size = value & 15;
        if (!size)
            return at + (value >> 4 == 15 ? 16 : ENDS);
        at += (value >> 4) + 1;
        number = extended(taken(b, size), size);
    }
    if (number) {
        if (at > LAST)
            ERREXIT(jpeg, JERR_BAD_STATE);
        if (block)
            block[PLACES[at]] = (JCOEF)number;
    }
    return at;
}

static inline void waves(j_decompress_ptr jpeg, struct bits *b, const struct codes *codes, JCOEF *block) {
    for (int32_t at = 0; at < LAST;) {
        if (b->count < 32)
            fill(b);
        at = wave(jpeg, b, codes, at, block);
    }
}

/* The same without the coefficients. Of bits that are full, a level and two of these are read, or four of these. */
static inline void skip_waves(j_decompress_ptr jpeg, struct bits *b, const struct codes *codes) {
    int32_t at = 0, more = 2;
    for (;;) {
        while (more--) {
            uint32_t said = codes->some[b->next >> (64 - BROAD)];
            int32_t on = (int32_t)(said >> 5), ends = (int32_t)(said >> 4 & 1);
            if (!(said & 15) || at + on + ends > LAST)
                break;
            drop(b, (int32_t)(said & 15));
            at += on;
            if (ends || at == LAST)
                return;
        }
        fill(b);
        if (more >= 0) {
            at = wave(jpeg, b, codes, at, 0);
            if (at >= LAST)
                return;
            fill(b);
        }
        more = 4;
    }
}

/* Over a restart marker, which has to stand right here. */
static void restart(struct coded *c) {
    struct bits *b = &c->bits;
    if (b->count - b->made >= 8 || b->end - b->at < 2 || b->at[0] != 0xff || b->at[1] != JPEG_RST0 + c->marker)
        ERREXIT(c->jpeg, JERR_BAD_STATE);
    *b = (struct bits){.at = b->at + 2, .end = b->end};
    c->left = c->jpeg->restart_interval, c->marker = (c->marker + 1) & 7;
    memset(c->levels, 0, sizeof c->levels);
}

/* The next unit, into its blocks, if any. */
static void next_unit(struct coded *c, JBLOCKROW *blocks) {
    j_decompress_ptr jpeg = c->jpeg;
    if (jpeg->restart_interval) {
        if (!c->left)
            restart(c);
        c->left--;
    }
    struct bits b = c->bits;
    int seen = blocks && c->first <= c->column && c->column <= c->last;
    c->column = c->column + 1 < jpeg->MCUs_per_row ? c->column + 1 : 0;
    for (int k = 0; k < jpeg->blocks_in_MCU; k++) {
        int which = jpeg->MCU_membership[k];
        const jpeg_component_info *component = jpeg->cur_comp_info[which];
        const struct codes *of_waves = c->waves_of + component->ac_tbl_no;
        fill(&b);
        c->levels[which] = level(jpeg, &b, c->levels_of + component->dc_tbl_no, c->levels[which]);
        if (seen && component->component_needed) {
            blocks[k][0][0] = (JCOEF)c->levels[which];
            waves(jpeg, &b, of_waves, blocks[k][0]);
        } else
            skip_waves(jpeg, &b, of_waves);
    }
    c->bits = b;
    if (b.count < b.made) /* more was read than there is */
        ERREXIT(jpeg, JERR_BAD_STATE);
}

/* Begin with the units of a scan of all components, of which columns `first` to `last` are looked at. */
static void begin_coded(struct coded *c, const uint8_t *at, size_t size, uint32_t first, uint32_t last) {
    j_decompress_ptr jpeg = c->jpeg;
    c->begin = at;
    c->bits = (struct bits){.at = at, .end = at + size};
    c->column = 0, c->first = first, c->last = last;
    c->left = jpeg->restart_interval, c->marker = 0;
    memset(c->levels, 0, sizeof c->levels);
    for (int k = 0; k < jpeg->comps_in_scan; k++) {
        int level = jpeg->cur_comp_info[k]->dc_tbl_no, wave = jpeg->cur_comp_info[k]->ac_tbl_no;
        prepare(c->levels_of + level, jpeg->dc_huff_tbl_ptrs[level], 1);
        prepare(c->waves_of + wave, jpeg->ac_huff_tbl_ptrs[wave], 0);
    }
}

/* The first byte that holds none of what was read. */
static const uint8_t *behind_coded(const struct coded *c) {
    const uint8_t *at = c->bits.at;
    for (int32_t whole = (c->bits.count - c->bits.made) / 8; whole > 0 && at > c->begin; whole--)
        at -= at - c->begin >= 2 && at[-1] == 0 && at[-2] == 0xff ? 2 : 1;
    return at;
}

#endif
