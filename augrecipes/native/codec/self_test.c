/* Tests the entropy decoder of huffman.h against libjpeg's: libjpeg writes a small JPEG, and both decode it. libjpeg
   itself compares its version and struct sizes with those of its headers, and fails if they differ. */

#include <stdlib.h>

#include "huffman.h"

#define LAYOUT "window.def"
#include "layout.h"

enum { ROWS = 40, COLUMNS = 56, RGB = 3 };

EXPORT int32_t ar_jpeg_window(const uint8_t *data, const void *window, void *memory, uint8_t *out, char *text);

struct writer {
    struct jpeg_compress_struct jpeg;
    struct messages messages;
};

static int encode(unsigned char **data, unsigned long *size) {
    struct writer w;
    char text[JMSG_LENGTH_MAX];
    memset(&w, 0, sizeof w);
    catch_messages(&w.messages, text, 1);
    w.jpeg.err = &w.messages.errors;
    volatile int done = 0;
    if (!setjmp(w.messages.out)) {
        jpeg_create_compress(&w.jpeg);
        jpeg_mem_dest(&w.jpeg, data, size);
        w.jpeg.image_height = ROWS, w.jpeg.image_width = COLUMNS, w.jpeg.input_components = RGB;
        w.jpeg.in_color_space = JCS_RGB;
        jpeg_set_defaults(&w.jpeg);
        jpeg_start_compress(&w.jpeg, TRUE);
        uint32_t noise = 1;
        for (int y = 0; y < ROWS; y++) {
            JSAMPLE row[COLUMNS * RGB], *rows[] = {row};
            for (int k = 0; k < COLUMNS * RGB; k++)
                noise = noise * 1664525u + 1013904223u, row[k] = (JSAMPLE)((noise >> 26) + 3 * y);
            jpeg_write_scanlines(&w.jpeg, rows, 1);
        }
        jpeg_finish_compress(&w.jpeg);
        done = 1;
    }
    jpeg_destroy_compress(&w.jpeg);
    return done;
}

/* Returns 1, or 0 if pixels differ, if libjpeg never asks for a block, or if it has a warning or an error. */
EXPORT int32_t ar_jpeg_self_test(void) {
    uint8_t pixels[2][ROWS * COLUMNS * RGB];
    unsigned char *data = NULL;
    unsigned long size = 0;
    char text[JMSG_LENGTH_MAX];
    struct entropy *entropy = malloc(sizeof *entropy);
    int32_t works = entropy && encode(&data, &size);
    for (int32_t codes = 0; works && codes < 2; codes++) {
        const Window whole = {(int64_t)size, 1, codes, 1, RGB, 0, ROWS, 0, COLUMNS};
        memset(entropy, 0, sizeof *entropy);
        works = ar_jpeg_window(data, &whole, entropy, pixels[codes], text) == 0;
    }
    works = works && !memcmp(pixels[0], pixels[1], sizeof *pixels);
#if !defined(ENTROPY_BY_LIBJPEG)
    works = works && entropy->total && entropy->mcu == entropy->total;
#endif
    free(data), free(entropy);
    return works;
}
