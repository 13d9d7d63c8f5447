/* Windows of JPEGs by the libjpeg-turbo of the machine, which can leave out rows and columns: a library of its own,
   because the kernels must do without libjpeg.

   Whatever libjpeg has to say, warning or error, ends the decoding and is handed back as text: Python's own decoder then
   says what becomes of such a file. No global is written, all memory is libjpeg's own and given back on every way out,
   and nothing is printed. */

#include "huffman.h"

/* What is asked for; jpeg_window.py has the same fields. Rows and columns are those of the band at its scale. */
struct window {
    int64_t size;      /* bytes of the file */
    int64_t height_at; /* where its frame header keeps the height */
    int64_t pixels;    /* where the coded pixels of the first scan begin */
    int64_t first;     /* restart intervals above the band, left out */
    int64_t last;      /* the interval that the band ends in front of; 0 where it goes on to the end */
    int64_t count;     /* intervals of the whole picture; 0 where there are no restart markers to be looked for */
    int32_t height;    /* rows of the band at full size; 0 where the file is to be read as it is */
    int32_t whole;     /* whether the band goes down to the last row: then the end of the file is read as well */
    int32_t strict;    /* whether a warning ends the decoding */
    int32_t reduce;    /* 1, 2, 4 or 8 */
    int32_t channels;  /* 1 grey, 3 RGB, 4 RGBA; 5 CMYK as it is stored */
    int32_t y0, y1;    /* rows that are wanted, the end exclusive */
    int32_t x0, x1;    /* columns; x0 is the first of a minimum coded unit */
};

struct piece {
    const uint8_t *bytes;
    size_t size;
};

/* A decoder, the pieces of file that it reads one after another, and what it had to say first. */
struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct said said;
    struct jpeg_source_mgr source;
    struct piece pieces[5];
    int next, count;
    uint8_t height[2];
    struct coded *coded;
};

static const uint8_t END[2] = {0xff, JPEG_EOI};

static void nothing(j_decompress_ptr jpeg) { (void)jpeg; }

static boolean next_piece(j_decompress_ptr jpeg) {
    struct decoder *d = (struct decoder *)jpeg;
    struct piece piece = {END, sizeof END};
    while (d->next < d->count && !d->pieces[d->next].size)
        d->next++;
    if (d->next < d->count)
        piece = d->pieces[d->next++];
    else
        WARNMS(jpeg, JWRN_JPEG_EOF);
    d->source.next_input_byte = piece.bytes;
    d->source.bytes_in_buffer = piece.size;
    return TRUE;
}

static void skip(j_decompress_ptr jpeg, long count) {
    struct jpeg_source_mgr *source = jpeg->src;
    if (count <= 0)
        return;
    while ((size_t)count > source->bytes_in_buffer) {
        count -= (long)source->bytes_in_buffer;
        next_piece(jpeg);
    }
    source->next_input_byte += count;
    source->bytes_in_buffer -= (size_t)count;
}

/* Where the next marker begins, or NULL: FF, but not before 00, which is a coded byte, nor before FF, which fills. */
static const uint8_t *marker(const uint8_t *at, const uint8_t *end) {
    while (at < end && (at = memchr(at, 0xff, (size_t)(end - at))) && at + 1 < end) {
        if (at[1] != 0x00 && at[1] != 0xff)
            return at;
        at += at[1] == 0x00 ? 2 : 1;
    }
    return NULL;
}

/* The restart intervals of a band, copied and numbered anew; 0 where the markers are not all there and in order. */
static int intervals(struct decoder *d, const uint8_t *data, const struct window *w, struct piece *band) {
    if (w->first < 0 || w->first >= w->last || w->last > w->count)
        return 0;
    const uint8_t *at = data + w->pixels, *end = data + w->size, *begin = at, *stop = NULL;
    int64_t looked = w->last < w->count ? w->last : w->count - 1;
    for (int64_t k = 0; k < looked; k++) {
        if (!(at = marker(at, end)) || at[1] != JPEG_RST0 + k % 8)
            return 0;
        stop = at;
        at += 2;
        if (k == w->first - 1)
            begin = at;
    }
    const uint8_t *tail = end - 2;
    while (tail >= at && !(tail[0] == 0xff && tail[1] == JPEG_EOI))
        tail--;
    if (tail < at)
        return 0;
    if (w->last == w->count)
        stop = end;
    band->size = (size_t)(stop - begin);
    uint8_t *copy = d->jpeg.mem->alloc_large((j_common_ptr)&d->jpeg, JPOOL_PERMANENT, band->size + 1);
    memcpy(copy, begin, band->size);
    band->bytes = copy;
    int64_t k = 0;
    for (uint8_t *mark = copy; w->first && k < w->last - w->first - 1; k++) {
        mark = (uint8_t *)marker(mark, copy + band->size);
        mark[1] = (uint8_t)(JPEG_RST0 + k % 8);
        mark += 2;
    }
    return 1;
}

static void lay_out(struct decoder *d, const uint8_t *data, const struct window *w) {
    d->pieces[0] = (struct piece){data, (size_t)w->size};
    d->count = 1;
    if (!w->height)
        return;
    if (w->height_at < 2 || w->pixels < w->height_at + 2 || w->size < w->pixels + 2)
        ERREXIT(&d->jpeg, JERR_BAD_STATE);
    struct piece band = {data + w->pixels, (size_t)(w->size - w->pixels)}, end = {END, 0};
    if (w->count) {
        if (!intervals(d, data, w, &band))
            ERREXIT(&d->jpeg, JERR_BAD_STATE);
        end.size = w->last < w->count ? sizeof END : 0;
    }
    d->height[0] = (uint8_t)(w->height >> 8);
    d->height[1] = (uint8_t)w->height;
    d->pieces[0] = (struct piece){data, (size_t)w->height_at};
    d->pieces[1] = (struct piece){d->height, 2};
    d->pieces[2] = (struct piece){data + w->height_at + 2, (size_t)(w->pixels - w->height_at - 2)};
    d->pieces[3] = band;
    d->pieces[4] = end;
    d->count = 5;
}

/* Whether what follows the last row that was decoded is the end marker, as the whole decode finds it. */
static int ends(struct decoder *d) {
    if (d->jpeg.unread_marker)
        return d->jpeg.unread_marker == JPEG_EOI;
    const uint8_t *at = d->source.next_input_byte, *found = marker(at, at + d->source.bytes_in_buffer);
    if (!found && d->next < d->count && d->pieces[d->next].size)
        return 1; /* the end that was laid behind a band */
    return found && found[1] == JPEG_EOI;
}

static boolean read_unit(j_decompress_ptr jpeg, JBLOCKROW *blocks) {
    next_unit(((struct decoder *)jpeg)->coded, blocks);
    return TRUE;
}

/* Coefficients are read here, where the coded pixels lie in one piece and libjpeg has not begun with them. */
static int reads_itself(struct decoder *d, const struct window *w) {
    j_decompress_ptr jpeg = &d->jpeg;
    if (!w->height || d->next != 3 || d->source.bytes_in_buffer || jpeg->progressive_mode || jpeg->arith_code ||
        jpeg->comps_in_scan != jpeg->num_components || w->reduce < 1 ||
        w->reduce > DCTSIZE)
        return 0;
    int unit = DCTSIZE / w->reduce * (jpeg->num_components > 1 ? jpeg->max_h_samp_factor : 1);
    d->coded->jpeg = jpeg;
    begin_coded(d->coded, d->pieces[3].bytes, d->pieces[3].size, (uint32_t)(w->x0 / unit), (uint32_t)((w->x1 - 1) / unit));
    jpeg->entropy->decode_mcu = read_unit;
    return 1;
}

/* libjpeg goes on behind what was read here. */
static void hand_back(struct decoder *d) {
    const struct piece *piece = d->pieces + 3;
    d->next = 4;
    d->source.next_input_byte = behind_coded(d->coded);
    d->source.bytes_in_buffer = (size_t)(piece->bytes + piece->size - d->source.next_input_byte);
}

static void decode(struct decoder *d, const uint8_t *data, const struct window *w, uint8_t *out) {
    static const J_COLOR_SPACE spaces[] = {0, JCS_GRAYSCALE, 0, JCS_EXT_RGB, JCS_EXT_RGBA, JCS_CMYK};
    j_decompress_ptr jpeg = &d->jpeg;
    lay_out(d, data, w);
    jpeg_read_header(jpeg, TRUE);
    jpeg->out_color_space = spaces[w->channels];
    jpeg->scale_num = 1;
    jpeg->scale_denom = (unsigned)w->reduce;
    jpeg->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(jpeg);
    if (w->x0 < 0 || w->x0 >= w->x1 || w->x1 > (int64_t)jpeg->output_width || w->y0 < 0 || w->y0 >= w->y1 ||
        w->y1 > (int64_t)jpeg->output_height || jpeg->output_components != (w->channels == 5 ? 4 : w->channels))
        ERREXIT(jpeg, JERR_BAD_STATE);
    JDIMENSION left = (JDIMENSION)w->x0, width = (JDIMENSION)(w->x1 - w->x0);
    if (width < jpeg->output_width) {
        jpeg_crop_scanline(jpeg, &left, &width);
        if (left != (JDIMENSION)w->x0 || width != (JDIMENSION)(w->x1 - w->x0))
            ERREXIT(jpeg, JERR_BAD_STATE);
    }
    int reads = reads_itself(d, w);
    if (w->y0)
        jpeg_skip_scanlines(jpeg, (JDIMENSION)w->y0);
    size_t step = (size_t)width * (size_t)jpeg->output_components;
    while ((int64_t)jpeg->output_scanline < w->y1) {
        JSAMPROW rows[16];
        int64_t at = jpeg->output_scanline, count = w->y1 - at < 16 ? w->y1 - at : 16;
        for (int64_t k = 0; k < count; k++)
            rows[k] = out + (size_t)(at + k - w->y0) * step;
        jpeg_read_scanlines(jpeg, rows, (JDIMENSION)count);
    }
    if (reads)
        hand_back(d);
    if (w->whole)
        jpeg_finish_decompress(jpeg);
    else if (!ends(d))
        ERREXIT(jpeg, JERR_BAD_STATE);
}

/* Writes rows y0 to y1 of columns x0 to x1 to `out`, one after another. Answers 0, or 1 where libjpeg had something to
   say: then `text`, of JMSG_LENGTH_MAX bytes, has it, and `out` may be written in part. */
EXPORT int32_t ar_jpeg_window(const uint8_t *data, const void *window, void *memory, uint8_t *out, char *text) {
    const struct window *w = window;
    struct decoder d;
    memset(&d, 0, sizeof d);
    d.coded = memory;
    listen(&d.said, text, w->strict);
    d.jpeg.err = &d.said.errors;
    d.source = (struct jpeg_source_mgr){NULL, 0, nothing, next_piece, skip, jpeg_resync_to_restart, nothing};
    int32_t answer = SAID;
    if (!setjmp(d.said.out)) {
        jpeg_create_decompress(&d.jpeg);
        d.jpeg.src = &d.source;
        decode(&d, data, w, out);
        answer = DONE;
    }
    jpeg_destroy_decompress(&d.jpeg);
    return answer;
}

/* Bytes of the memory that windows are decoded with, zeros at first, by one thread at a time. */
EXPORT int64_t ar_jpeg_memory(void) { return sizeof(struct coded); }

/* The sources that this was built from. */
EXPORT const char *ar_sources(void) { return SOURCES; }

/* The version of libjpeg-turbo whose headers it was built with. */
EXPORT int32_t ar_libjpeg(void) { return LIBJPEG_TURBO_VERSION_NUMBER; }
