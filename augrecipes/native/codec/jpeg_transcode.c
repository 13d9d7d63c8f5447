/* Rewrites a JPEG with its own coefficients: one scan of Huffman codes, a restart marker after every row of MCUs, and
   nothing that decoding does not need. */

#include "messages.h"

struct writer {
    struct messages messages;
    struct jpeg_decompress_struct from;
    struct jpeg_compress_struct to;
    struct jpeg_destination_mgr target;
};

static void nothing(j_compress_ptr jpeg) { (void)jpeg; }

static boolean full(j_compress_ptr jpeg) {
    ERREXIT(jpeg, JERR_BUFFER_SIZE);
    return FALSE;
}

/* Whether a progressive file lacks scans: libjpeg then smooths its blocks, which a baseline file would not get. */
static int unfinished(j_decompress_ptr jpeg) {
    for (int k = 0; jpeg->progressive_mode && k < jpeg->num_components * DCTSIZE2; k++)
        if (jpeg->coef_bits[k / DCTSIZE2][k % DCTSIZE2])
            return 1;
    return 0;
}

/* Writes to `out`, which has `capacity` bytes; returns the size, or -1 if libjpeg has a warning or an error about the
   file, or `capacity` is too small: `text` then has the message. */
EXPORT int64_t ar_jpeg_transcode(const uint8_t *data, int64_t size, uint8_t *out, int64_t capacity, char *text) {
    struct writer w;
    memset(&w, 0, sizeof w);
    catch_messages(&w.messages, text, 1);
    w.from.err = w.to.err = &w.messages.errors;
    w.target = (struct jpeg_destination_mgr){out, (size_t)capacity, nothing, full, nothing};
    volatile int64_t answer = -1;
    if (!setjmp(w.messages.out)) {
        jpeg_create_decompress(&w.from);
        jpeg_create_compress(&w.to);
        jpeg_mem_src(&w.from, (unsigned char *)data, (unsigned long)size);
        jpeg_read_header(&w.from, TRUE);
        jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&w.from);
        if (unfinished(&w.from))
            ERREXIT(&w.from, JERR_BAD_STATE);
        w.to.dest = &w.target;
        jpeg_copy_critical_parameters(&w.from, &w.to);
        w.to.optimize_coding = TRUE;
        w.to.restart_in_rows = 1;
        jpeg_write_coefficients(&w.to, coefficients);
        jpeg_finish_compress(&w.to);
        jpeg_finish_decompress(&w.from);
        answer = capacity - (int64_t)w.target.free_in_buffer;
    }
    jpeg_destroy_compress(&w.to);
    jpeg_destroy_decompress(&w.from);
    return answer;
}
