/* Canonical Huffman codes of baseline JPEGs (ITU-T T.81, Annex F), decoded by look-ahead tables. The decoder replaces
   libjpeg's entropy decoder, which is called through a function pointer.

   MCUs are decoded ahead by two cursors at once, of which the second begins at a guess further on. Huffman codes are
   self-synchronising: after some blocks the second cursor decodes the true blocks, and once the first reaches an MCU
   at a bit at which the second began one, all that follows in the second is right (Klein and Wiseman, "Parallel
   Huffman decoding with applications to JPEG files", 2003). DC values stay differences until MCUs are delivered.
   Anything unexpected raises libjpeg's error; the caller then decodes the file in another way.

   Bits: coefficients are exact, and the inverse transform stays libjpeg's. `struct jpeg_entropy_decoder` is private
   to libjpeg: self_test.c checks it when the codec is built and when it is loaded.
   Law: tests/images/test_jpeg_window.py, whose planted faults are in this file, cursor.h and codes.h. */

#pragma once

#include "cursor.h"

enum { CHUNK = 1024, SLICE = 48, SLACK = 16 }; /* blocks of a cursor, between two checks, and of padding */
enum { BYTES = 1 << 15, ZEROS = 32 };          /* bytes of the stream at a time, and of zeros after it */
enum { ALONE = 96 };                           /* up to so many blocks a second cursor does not pay */
enum { RETRIES = 4 };                          /* of a second cursor that meets an invalid code */

/* Decoded MCUs that are not delivered yet. */
struct mcus {
    const uint8_t *block;
    int64_t count;
};

/* The state of the decoder. */
struct entropy {
    j_decompress_ptr jpeg;
    const uint8_t *begin, *at, *end;  /* in the file: the scan, the next byte for the stream, the end */
    uint64_t bit, size;               /* in the stream: the next bit, and the number of bytes */
    int ended, store;                 /* whether a marker follows the stream; whether coefficients are stored */
    struct mcus ready[2];             /* the first, then the second */
    int64_t mcu, total;               /* the next one, and how many there are */
    int64_t interval, intervals;      /* where the restart interval ends, and how many come before it */
    int64_t above;                    /* MCUs above the interval in which decoding begins: they are left out */
    int64_t first_stored, last_stored; /* MCUs of the wanted rows, the end exclusive */
    uint32_t column, first, last;     /* the column of the next MCU, and the wanted ones */
    int32_t dc[MAX_COMPS_IN_SCAN];    /* the last DC value of each component */
    struct part parts[2][2 * D_MAX_BLOCKS_IN_MCU]; /* of blocks that are skipped, and that are stored */
    struct huffman tables[2][NUM_HUFF_TBLS];       /* for DC values, and for AC coefficients */
    uint8_t bytes[BYTES + 2 * ZEROS];
    struct block blocks[2][CHUNK + 2 * SLACK];
};

/* The first fields of libjpeg's entropy decoder, which its headers do not declare. */
struct jpeg_entropy_decoder {
    void (*start_pass)(j_decompress_ptr);
    boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW *);
};

/* Move bytes of the file into the stream, without stuffing, up to a marker or until it is full. */
static void fill_stream(struct entropy *c) {
    uint64_t read = c->bit / 8;
    memmove(c->bytes, c->bytes + read, c->size - read);
    c->size -= read, c->bit -= read * 8;
    while (!c->ended && c->size < BYTES) {
        size_t most = BYTES - c->size, left = (size_t)(c->end - c->at), count = left < most ? left : most;
        const uint8_t *ff = memchr(c->at, 0xff, count);
        count = ff ? (size_t)(ff - c->at) : count;
        memcpy(c->bytes + c->size, c->at, count);
        c->at += count, c->size += count;
        c->ended = c->at == c->end || (ff && (c->end - ff < 2 || ff[1]));
        if (ff && !c->ended)
            c->bytes[c->size++] = 0xff, c->at += 2;
    }
    memset(c->bytes + c->size, 0, ZEROS);
}

/* Skip a restart marker, which must be the next one. */
static void restart(struct entropy *c) {
    uint64_t size = c->size * 8;
    if (!c->ended || c->bit > size || size - c->bit >= 8 || c->end - c->at < 2 || c->at[0] != 0xff ||
        c->at[1] != JPEG_RST0 + (c->intervals & 7))
        ERREXIT(c->jpeg, JERR_BAD_STATE);
    c->at += 2, c->bit = c->size = 0, c->ended = 0;
    c->interval += c->jpeg->restart_interval, c->intervals++;
    c->interval = c->interval < c->total ? c->interval : c->total;
    memset(c->dc, 0, sizeof c->dc);
}

static int64_t stride(const struct entropy *c) { return c->store ? STORED : SKIPPED; }

static struct cursor cursor_at(struct entropy *c, int which, uint64_t bit) {
    uint8_t *blocks = (uint8_t *)c->blocks[which];
    return (struct cursor){.at = bit, .block = blocks, .first = blocks, .clean = blocks,
                           .part = (const uint8_t *)c->parts[c->store]};
}

/* Let a cursor decode some more blocks, of `most` in all; coefficients without a code are zeros. */
static void extend(const struct entropy *c, struct cursor *x, int64_t most) {
    uint8_t *limit = x->block + SLICE * stride(c), *last = x->first + most * stride(c);
    x->limit = limit < last ? limit : last;
    uint8_t *end = x->limit + SLACK * stride(c);
    if (c->store && x->clean < end) {
        memset(x->clean, 0, (size_t)(end - x->clean));
        x->clean = end;
    }
}

/* The bit at which an MCU begins. */
static uint32_t begin_of(const struct entropy *c, const struct cursor *x, int64_t mcu) {
    return ((const struct block *)(x->first + mcu * c->jpeg->blocks_in_MCU * stride(c)))->begin;
}

/* The number of complete MCUs of a cursor that are in the stream. */
static int64_t whole_mcus(const struct entropy *c, const struct cursor *x) {
    int64_t blocks = ((x->bad ? x->bad : x->block) - x->first) / stride(c) - 1;
    int64_t count = blocks > 0 ? blocks / c->jpeg->blocks_in_MCU : 0;
    while (count && begin_of(c, x, count) > c->size * 8)
        count--;
    return count;
}

/* Decode up to `most` MCUs ahead. */
static void read_ahead(struct entropy *c, int64_t most) {
    fill_stream(c);
    int64_t in_mcu = c->jpeg->blocks_in_MCU, chunk = CHUNK / in_mcu, i = 0, j = 0, met = 0, retries = RETRIES;
    uint64_t bits = c->size * 8 - (c->bit < c->size * 8 ? c->bit : c->size * 8), half = bits / 2;
    uint64_t all = bits + 8 * (uint64_t)(c->end - c->at), mcus = (uint64_t)(most > chunk ? chunk * 2 / 3 : most / 2);
    uint64_t ahead = all / (uint64_t)(c->total - c->mcu) * mcus;
    struct stream s = {c->bytes, c->size + ZEROS / 2};
    struct cursor a = cursor_at(c, 0, c->bit), b = cursor_at(c, 1, c->bit + (ahead < half ? ahead : half));
    chunk = (most < chunk ? most : chunk) * in_mcu;
    const uint8_t *end_a = a.first + chunk * stride(c), *end_b = b.first + CHUNK * stride(c);
    int two = most * in_mcu > ALONE;
    while (!met && !a.bad && a.block <= end_a) {
        int both = two && b.block <= end_b;
        extend(c, &a, chunk);
        if (both)
            extend(c, &b, CHUNK);
        read_on(&a, both ? &b : NULL, &s, c->store);
        if (b.bad) { /* invalid codes: begin again one bit further on */
            two = retries-- > 0;
            b = cursor_at(c, 1, b.at + 1), j = 0;
        }
        int64_t in_a = whole_mcus(c, &a), in_b = whole_mcus(c, &b);
        while (two && i <= in_a && j <= in_b && !met) {
            uint32_t at_a = begin_of(c, &a, i), at_b = begin_of(c, &b, j);
            met = at_a == at_b;
            i += at_a < at_b, j += at_b < at_a;
        }
    }
    int64_t count_a = met ? i : whole_mcus(c, &a), count_b = met ? whole_mcus(c, &b) - j : 0;
    count_a = count_a < most ? count_a : most;
    count_b = count_b < most - count_a ? count_b : most - count_a;
    if (!count_a && !count_b)
        ERREXIT(c->jpeg, JERR_BAD_STATE);
    c->ready[0] = (struct mcus){a.first, count_a};
    c->ready[1] = (struct mcus){b.first + j * in_mcu * stride(c), count_b};
    c->bit = count_b ? begin_of(c, &b, j + count_b) : begin_of(c, &a, count_a);
}

/* The next decoded MCUs; decodes some if there are none. */
static struct mcus *next_ready(struct entropy *c) {
    if (!c->ready[0].count && !c->ready[1].count) {
        if (c->mcu == c->interval)
            restart(c);
        c->store = c->mcu >= c->first_stored;
        int64_t end = !c->store ? c->first_stored : c->mcu < c->last_stored ? c->last_stored : c->total;
        read_ahead(c, (end < c->interval ? end : c->interval) - c->mcu);
    }
    return c->ready + !c->ready[0].count;
}

/* Deliver the next MCU into its blocks, if any. */
static void next_mcu(struct entropy *c, JBLOCKROW *blocks) {
    j_decompress_ptr jpeg = c->jpeg;
    int wanted = blocks && c->first <= c->column && c->column <= c->last;
    c->column = c->column + 1 < jpeg->MCUs_per_row ? c->column + 1 : 0;
    if (c->above) {
        c->above--;
        return;
    }
    struct mcus *ready = next_ready(c);
    if (wanted && !c->store)
        ERREXIT(jpeg, JERR_BAD_STATE);
    for (int k = 0; k < jpeg->blocks_in_MCU; k++, ready->block += stride(c)) {
        const JCOEF *values = ((const struct block *)ready->block)->values;
        int32_t *dc = c->dc + jpeg->MCU_membership[k];
        *dc += values[0];
        if (*dc != (JCOEF)*dc)
            ERREXIT(jpeg, JERR_BAD_STATE);
        if (wanted) {
            memcpy(blocks[k], values, sizeof(JBLOCK));
            blocks[k][0][0] = (JCOEF)*dc;
        }
    }
    ready->count--, c->mcu++;
}

/* Begin at a restart interval of a scan of all components. Wanted are the columns `first` to `last` of MCUs in rows
   from `top` to before `bottom`. */
static void begin_scan(struct entropy *c, const uint8_t *at, const uint8_t *end, int64_t interval, uint32_t first,
                       uint32_t last, int64_t top, int64_t bottom) {
    j_decompress_ptr jpeg = c->jpeg;
    int64_t across = jpeg->MCUs_per_row, every = jpeg->restart_interval;
    c->begin = c->at = at, c->end = end;
    c->bit = c->size = 0, c->ended = 0;
    c->ready[0].count = c->ready[1].count = 0;
    c->total = across * jpeg->MCU_rows_in_scan;
    c->mcu = c->above = interval * every, c->intervals = interval;
    c->interval = every && c->mcu + every < c->total ? c->mcu + every : c->total;
    c->first_stored = top * across, c->last_stored = bottom * across;
    c->column = 0, c->first = first, c->last = last;
    memset(c->dc, 0, sizeof c->dc);
    for (int k = 0; k < jpeg->comps_in_scan; k++) {
        int dc = jpeg->cur_comp_info[k]->dc_tbl_no, ac = jpeg->cur_comp_info[k]->ac_tbl_no;
        build_tables(c->tables[0] + dc, jpeg->dc_huff_tbl_ptrs[dc], 1);
        build_tables(c->tables[1] + ac, jpeg->ac_huff_tbl_ptrs[ac], 0);
    }
    for (int k = 0, count = jpeg->blocks_in_MCU; k < count; k++) {
        const jpeg_component_info *component = jpeg->cur_comp_info[jpeg->MCU_membership[k]];
        int64_t size = sizeof(struct part), next = k + 1 < count ? size : -size * (2 * k + 1);
        for (int store = 0; store < 2; store++) {
            struct part *part = c->parts[store] + 2 * k;
            part[0] = (struct part){c->tables[0] + component->dc_tbl_no, size, store ? STORED : SKIPPED};
            part[1] = (struct part){c->tables[1] + component->ac_tbl_no, next, 0};
        }
    }
}

/* The first byte that was not decoded, or a later one of the same scan. */
static const uint8_t *unread_byte(const struct entropy *c) {
    const uint8_t *at = c->at;
    if (c->mcu == c->total)
        for (int64_t whole = (int64_t)c->size - (int64_t)(c->bit + 7) / 8; whole > 0 && at > c->begin; whole--)
            at -= at - c->begin >= 2 && at[-1] == 0 && at[-2] == 0xff ? 2 : 1;
    return at;
}
