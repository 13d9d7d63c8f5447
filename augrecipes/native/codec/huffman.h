/* Coefficients of baseline JPEGs, read in place of libjpeg's own entropy decoder, whose place is taken by a function.

   A table says of the next bits which coefficient they are, and how far on in the block; of blocks that nobody looks at,
   which are only read for what follows them, another one says so of several coefficients together. Where anything is
   not as it should be, libjpeg's error is raised: who called then has the file judged by other means. */

#ifndef AUGRECIPES_HUFFMAN_H
#define AUGRECIPES_HUFFMAN_H

#include "codes.h"

#define SELDOM __attribute__((noinline)) /* out of the way of what is done often */
enum { FULL = 56 };                      /* bits that are at hand once they are filled up */

/* Bits that are at hand, the next one highest. While blocks are read no pointer to them leaves the function that reads:
   so they stay in registers. */
struct bits {
    uint64_t next;
    int64_t count;
};

/* Bytes that are not read yet, and how many of the bits at hand stand for bytes that are not there. */
struct bytes {
    const uint8_t *at, *end;
    int64_t padding;
};

/* A block of an MCU: its tables, the DC value of its component's last block, and whether it is made into pixels. */
struct block_state {
    const struct huffman *dc_table, *ac_table;
    int32_t *dc, needed;
};

/* Where reading stands. */
struct entropy {
    j_decompress_ptr jpeg;
    const uint8_t *begin;
    struct bytes bytes;
    struct bits bits;
    int32_t dc[MAX_COMPS_IN_SCAN]; /* of the last block of each component */
    struct block_state blocks[D_MAX_BLOCKS_IN_MCU];
    uint32_t column, first, last;      /* of MCUs: the next, and those that are wanted */
    uint32_t mcus_left, marker;        /* MCUs until the next restart marker, and its number */
    int64_t mcus_above;                /* MCUs above the interval that reading begins in: they are left as they are */
    struct huffman dc_tables[NUM_HUFF_TBLS], ac_tables[NUM_HUFF_TBLS];
};

/* The beginning of libjpeg's entropy decoder, of which its header says nothing. */
struct jpeg_entropy_decoder {
    void (*start_pass)(j_decompress_ptr);
    boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW *);
};

/* Where coefficients lie in a block, in zigzag order; whatever lies behind the last goes where the DC value will. */
static const uint8_t PLACES[LAST + UNKNOWN + 1] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

static inline int has_ff(uint64_t bytes) {
    return (((bytes & 0x7f7f7f7f7f7f7f7f) + 0x0101010101010101) & bytes & 0x8080808080808080) != 0;
}

static inline uint64_t eight_bytes(const uint8_t *at) {
    return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 | (uint64_t)at[3] << 32 |
           (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 | (uint64_t)at[6] << 8 | (uint64_t)at[7];
}

/* One byte after another, zeros where a marker stands or nothing is left. */
static SELDOM struct bits fill_slowly(struct bytes *bytes, struct bits b) {
    while (b.count < FULL) {
        uint64_t byte = 0;
        if (bytes->at < bytes->end && *bytes->at != 0xff)
            byte = *bytes->at++;
        else if (bytes->end - bytes->at >= 2 && !bytes->at[1])
            byte = 0xff, bytes->at += 2;
        else
            bytes->padding += 8;
        b.next |= byte << (56 - b.count);
        b.count += 8;
    }
    return b;
}

/* At least FULL bits. */
static inline struct bits fill(struct bytes *bytes, struct bits b) {
    uint64_t more = bytes->end - bytes->at >= 8 ? eight_bytes(bytes->at) : ~0ull;
    if (has_ff(more))
        return fill_slowly(bytes, b);
    b.next |= more >> b.count;
    bytes->at += (63 - b.count) >> 3;
    b.count |= FULL;
    return b;
}

static inline struct bits skip_bits(struct bits b, uint32_t count) {
    b.next <<= count & 63, b.count -= count & 63;
    return b;
}

static inline uint32_t advance(uint32_t said) { return said >> 8 & 255; }

/* The length and the value of a code that is longer than the look-ahead. */
static SELDOM uint32_t long_code(j_decompress_ptr jpeg, uint64_t next, const struct huffman *codes) {
    for (int32_t length = LOOK + 1; length <= LONGEST; length++) {
        int32_t code = (int32_t)(next >> (64 - length));
        if (code <= codes->maxcode[length])
            return (uint32_t)length | (uint32_t)codes->table.huffval[(code + codes->valoffset[length]) & 255] << 16;
    }
    ERREXIT(jpeg, JERR_BAD_STATE);
    return 0;
}

/* The next symbol where the tables alone do not tell, of full bits: a coefficient, how far on it is, or the end. */
static inline struct bits next_symbol(struct entropy *c, struct bits b, const struct huffman *codes, int32_t *number,
                                     uint32_t *on) {
    uint32_t said = codes->look[b.next >> (64 - LOOK)].one;
    if (advance(said) != UNKNOWN) {
        *number = (int32_t)said >> 16, *on = advance(said);
        return fill(&c->bytes, skip_bits(b, said));
    }
    if (!(said & 255))
        said = long_code(c->jpeg, b.next, codes);
    b = skip_bits(b, said);
    uint32_t size = said >> 16 & 15, run = said >> 20 & 15;
    *number = extend_sign((int32_t)(b.next >> 1 >> (63 - size)), (int32_t)size);
    *on = size ? run + 1 : run == 15 ? 16 : BLOCK_END;
    return fill(&c->bytes, skip_bits(b, size));
}

/* The DC value of the next block, of full bits, which it leaves. */
static inline struct bits decode_dc(struct entropy *c, struct bits b, const struct block_state *state) {
    uint32_t on;
    int32_t number;
    b = next_symbol(c, b, state->dc_table, &number, &on);
    number += *state->dc;
    if (number != (JCOEF)number)
        ERREXIT(c->jpeg, JERR_BAD_STATE);
    *state->dc = number;
    return b;
}

/* The AC coefficients of a block, of full bits: five times LOOK of them at a time. Coefficients are written before it is
   asked whether they are any; what was none lies where the DC value is, which is to be written last. */
static inline struct bits decode_ac(struct entropy *c, struct bits b, const struct huffman *codes, JCOEF *block) {
    uint32_t at = 0, on;
    int32_t number;
    for (;; b = fill(&c->bytes, b)) {
        for (int more = 5; more; more--) {
            struct entries said = codes->look[b.next >> (64 - LOOK)];
            uint32_t next = at + advance(said.two);
            block[PLACES[at + advance(said.one)]] = (JCOEF)(said.one >> 16);
            block[PLACES[next]] = (JCOEF)(said.two >> 16);
            if (next < LAST) {
                b = skip_bits(b, said.two), at = next;
                continue;
            }
            if (next - BLOCK_END < LAST) /* the last coefficient has no end behind it */
                return skip_bits(b, said.two);
            b = next_symbol(c, fill(&c->bytes, b), codes, &number, &on);
            at += on;
            if (number && at > LAST)
                ERREXIT(c->jpeg, JERR_BAD_STATE);
            block[PLACES[at]] = (JCOEF)number;
            if (at >= LAST)
                return b;
            more = 6;
        }
    }
}

/* The same without the coefficients: four times WIDE bits at a time. */
static inline struct bits skip_ac(struct entropy *c, struct bits b, const struct huffman *codes) {
    uint32_t at = 0, on;
    int32_t number;
    for (int more = 4;; more = 4) {
        while (more--) {
            uint32_t said = codes->skip[b.next >> (64 - BROAD)], next = at + (said >> 8);
            if (next >= LAST) {
                if (next > LAST && (next < BLOCK_END || next >= BLOCK_END + LAST))
                    break;
                return skip_bits(b, said);
            }
            b = skip_bits(b, said);
            at = next;
        }
        b = fill(&c->bytes, b);
        if (more < 0)
            continue;
        b = next_symbol(c, b, codes, &number, &on);
        at += on;
        if (number && at > LAST)
            ERREXIT(c->jpeg, JERR_BAD_STATE);
        if (at >= LAST)
            return b;
    }
}

/* Over a restart marker, which has to stand right here. */
static void restart(struct entropy *c) {
    struct bytes *bytes = &c->bytes;
    const uint8_t *at = bytes->at;
    if (c->bits.count - bytes->padding >= 8 || bytes->end - at < 2 || at[0] != 0xff || at[1] != JPEG_RST0 + c->marker)
        ERREXIT(c->jpeg, JERR_BAD_STATE);
    *bytes = (struct bytes){.at = at + 2, .end = bytes->end};
    c->bits = (struct bits){0};
    c->mcus_left = c->jpeg->restart_interval, c->marker = (c->marker + 1) & 7;
    memset(c->dc, 0, sizeof c->dc);
}

/* The next MCU, into its blocks, if any. */
static void next_mcu(struct entropy *c, JBLOCKROW *blocks) {
    j_decompress_ptr jpeg = c->jpeg;
    struct bits b;
    int wanted = blocks && c->first <= c->column && c->column <= c->last;
    c->column = c->column + 1 < jpeg->MCUs_per_row ? c->column + 1 : 0;
    if (c->mcus_above) {
        c->mcus_above--;
        return;
    }
    if (jpeg->restart_interval) {
        if (!c->mcus_left)
            restart(c);
        c->mcus_left--;
    }
    b = c->bits;
    for (int k = 0; k < jpeg->blocks_in_MCU; k++) {
        const struct block_state *state = c->blocks + k;
        b = decode_dc(c, fill(&c->bytes, b), state);
        if (wanted && state->needed) {
            b = decode_ac(c, b, state->ac_table, blocks[k][0]);
            blocks[k][0][0] = (JCOEF)*state->dc;
        } else
            b = skip_ac(c, b, state->ac_table);
    }
    c->bits = b;
    if (b.count < c->bytes.padding) /* more was read than there is */
        ERREXIT(jpeg, JERR_BAD_STATE);
}

/* Begin at a restart interval of a scan of all components, of whose MCUs columns `first` to `last` are wanted. */
static void begin_scan(struct entropy *c, const uint8_t *at, const uint8_t *end, int64_t interval, uint32_t first,
                        uint32_t last) {
    j_decompress_ptr jpeg = c->jpeg;
    c->begin = at;
    c->bytes = (struct bytes){.at = at, .end = end};
    c->bits = (struct bits){0};
    c->column = 0, c->first = first, c->last = last;
    c->mcus_left = jpeg->restart_interval, c->marker = interval & 7, c->mcus_above = interval * jpeg->restart_interval;
    memset(c->dc, 0, sizeof c->dc);
    for (int k = 0; k < jpeg->comps_in_scan; k++) {
        int dc = jpeg->cur_comp_info[k]->dc_tbl_no, ac = jpeg->cur_comp_info[k]->ac_tbl_no;
        build_tables(c->dc_tables + dc, jpeg->dc_huff_tbl_ptrs[dc], 1);
        build_tables(c->ac_tables + ac, jpeg->ac_huff_tbl_ptrs[ac], 0);
    }
    for (int k = 0; k < jpeg->blocks_in_MCU; k++) {
        int which = jpeg->MCU_membership[k];
        const jpeg_component_info *component = jpeg->cur_comp_info[which];
        c->blocks[k] = (struct block_state){c->dc_tables + component->dc_tbl_no, c->ac_tables + component->ac_tbl_no,
                                            c->dc + which, component->component_needed};
    }
}

/* The first byte that holds none of what was read. */
static const uint8_t *unread_byte(const struct entropy *c) {
    const uint8_t *at = c->bytes.at;
    for (int64_t whole = (c->bits.count - c->bytes.padding) / 8; whole > 0 && at > c->begin; whole--)
        at -= at - c->begin >= 2 && at[-1] == 0 && at[-2] == 0xff ? 2 : 1;
    return at;
}

#endif
