/* Windows of JPEGs by the installed libjpeg-turbo, which can leave out rows and columns (jpeg_crop_scanline,
   jpeg_skip_scanlines): a library of its own, because the kernels must work without libjpeg.

   Any warning or error of libjpeg ends the decoding and is returned as text: Python's own decoder then decides about
   the file. No global is written, libjpeg frees its memory on every path, and nothing is printed.

   Bits: libjpeg's own; images/jpeg.py checks, once for each kind of file, that they are those of the whole image.
   Law: tests/images/test_jpeg_window.py. */

#include "huffman.h"

#define LAYOUT "window.def"
#include "layout_table.h"

/* A decoder, and its first message. */
struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct messages messages;
    struct entropy *entropy;
};

/* The next marker, or NULL: FF, unless 00 follows, which is a coded byte, or FF, which is padding. */
static const uint8_t *next_marker(const uint8_t *at, const uint8_t *end) {
    while (at < end && (at = memchr(at, 0xff, (size_t)(end - at))) && at + 1 < end) {
        if (at[1] != 0x00 && at[1] != 0xff)
            return at;
        at += at[1] == 0x00 ? 2 : 1;
    }
    return NULL;
}

/* The start of a restart interval; the markers before it must be complete and in order. */
static const uint8_t *restart_interval(j_decompress_ptr jpeg, const uint8_t *at, const uint8_t *end, int64_t number) {
    for (int64_t k = 0; k < number; k++) {
        if (!(at = next_marker(at, end)) || at[1] != JPEG_RST0 + k % 8)
            ERREXIT(jpeg, JERR_BAD_STATE);
        at += 2;
    }
    return at;
}

/* Whether the end marker follows the last decoded row, as decoding the whole image would find it; in files with
   restart markers, whether there is one at all. */
static int has_end_marker(j_decompress_ptr jpeg) {
    const uint8_t *at = jpeg->src->next_input_byte, *end = at + jpeg->src->bytes_in_buffer;
    if (!jpeg->restart_interval)
        return (at = next_marker(at, end)) && at[1] == JPEG_EOI;
    for (const uint8_t *tail = end - 2; tail >= at; tail--)
        if (tail[0] == 0xff && tail[1] == JPEG_EOI)
            return 1;
    return 0;
}

#if defined(ENTROPY_BY_LIBJPEG) /* see build.py: huffman.h does not fit this libjpeg */
enum { READS_CODES = 0 };
static void read_codes(struct decoder *d, const Window *w) { (void)d, (void)w; }
static void resume_libjpeg(struct decoder *d) { (void)d; }
#else
enum { READS_CODES = 1 };

static boolean read_mcu(j_decompress_ptr jpeg, JBLOCKROW *blocks) {
    next_mcu(((struct decoder *)jpeg)->entropy, blocks);
    return TRUE;
}

/* Decode coefficients by huffman.h, from the restart interval of the first wanted row on. */
static void read_codes(struct decoder *d, const Window *w) {
    j_decompress_ptr jpeg = &d->jpeg;
    if (jpeg->progressive_mode || jpeg->arith_code || jpeg->comps_in_scan != jpeg->num_components)
        ERREXIT(jpeg, JERR_BAD_STATE);
    int alone = jpeg->num_components == 1; /* a single component is coded block by block, whatever its sampling */
    int across = DCTSIZE / w->reduce * (alone ? 1 : jpeg->max_h_samp_factor);
    int down = DCTSIZE / w->reduce * (alone ? 1 : jpeg->max_v_samp_factor);
    const uint8_t *at = jpeg->src->next_input_byte, *end = at + jpeg->src->bytes_in_buffer;
    int64_t number = jpeg->restart_interval ? (int64_t)(w->y0 / down) * jpeg->MCUs_per_row / jpeg->restart_interval : 0;
    d->entropy->jpeg = jpeg;
    begin_scan(d->entropy, restart_interval(jpeg, at, end, number), end, number, (uint32_t)(w->x0 / across),
                (uint32_t)((w->x1 - 1) / across), w->y0 ? (w->y0 - 1) / down : 0, (w->y1 + down - 1) / down);
    jpeg->entropy->decode_mcu = read_mcu;
}

/* Set libjpeg's position after the bytes that were decoded here. */
static void resume_libjpeg(struct decoder *d) {
    struct jpeg_source_mgr *source = d->jpeg.src;
    const uint8_t *end = source->next_input_byte + source->bytes_in_buffer;
    source->next_input_byte = unread_byte(d->entropy);
    source->bytes_in_buffer = (size_t)(end - source->next_input_byte);
}
#endif

static void decode(struct decoder *d, const uint8_t *data, const Window *w, uint8_t *out) {
    static const J_COLOR_SPACE spaces[] = {0, JCS_GRAYSCALE, 0, JCS_EXT_RGB, JCS_EXT_RGBA, JCS_CMYK};
    j_decompress_ptr jpeg = &d->jpeg;
    if (w->size < 2 || (w->reduce != 1 && w->reduce != 2 && w->reduce != 4 && w->reduce != 8))
        ERREXIT(jpeg, JERR_BAD_STATE);
    jpeg_mem_src(jpeg, (unsigned char *)data, (unsigned long)w->size);
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
    if (w->codes)
        read_codes(d, w);
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
    if (w->codes)
        resume_libjpeg(d);
    if (jpeg->output_scanline == jpeg->output_height)
        jpeg_finish_decompress(jpeg);
    else if (!has_end_marker(jpeg))
        ERREXIT(jpeg, JERR_BAD_STATE);
}

/* Writes rows y0 to y1 of columns x0 to x1 to `out`, without gaps. Returns 0, or 1 if libjpeg has a warning or an
   error: `text`, of JMSG_LENGTH_MAX bytes, then has the message, and `out` may be written in part. */
EXPORT int32_t ar_jpeg_window(const uint8_t *data, const void *window, void *memory, uint8_t *out, char *text) {
    const Window *w = window;
    struct decoder d;
    memset(&d, 0, sizeof d);
    d.entropy = memory;
    catch_messages(&d.messages, text, w->strict);
    d.jpeg.err = &d.messages.errors;
    int32_t answer = 1;
    if (!setjmp(d.messages.out)) {
        jpeg_create_decompress(&d.jpeg);
        decode(&d, data, w, out);
        answer = 0;
    }
    jpeg_destroy_decompress(&d.jpeg);
    return answer;
}

/* The bytes of memory that decoding needs, zeros at first, used by one thread at a time. */
EXPORT int64_t ar_jpeg_memory(void) { return sizeof(struct entropy); }

/* Whether huffman.h decodes the codes here. */
EXPORT int32_t ar_jpeg_reads_codes(void) { return READS_CODES; }

/* The fingerprint of the sources of this library. */
EXPORT const char *ar_sources(void) { return SOURCES; }

/* The version of the libjpeg-turbo headers of this build. */
EXPORT int32_t ar_libjpeg(void) { return LIBJPEG_TURBO_VERSION_NUMBER; }
