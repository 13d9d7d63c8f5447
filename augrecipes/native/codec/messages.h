/* Catches the messages of libjpeg: the first warning or error as text, and a jump out of it. */

#pragma once

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "export.h"

#if !defined(LIBJPEG_TURBO_VERSION_NUMBER) || LIBJPEG_TURBO_VERSION_NUMBER < 1005000 || BITS_IN_JSAMPLE != 8
#error "jpeg_crop_scanline and jpeg_skip_scanlines came with libjpeg-turbo 1.5"
#endif

struct messages {
    struct jpeg_error_mgr errors; /* the first field, because libjpeg passes its address */
    jmp_buf out;
    char *text; /* of JMSG_LENGTH_MAX bytes */
    int strict; /* whether a warning ends the work, too */
};

static void on_error(j_common_ptr jpeg) {
    struct messages *messages = (struct messages *)jpeg->err;
    if (!messages->text[0])
        messages->errors.format_message(jpeg, messages->text);
    longjmp(messages->out, 1);
}

static void on_message(j_common_ptr jpeg, int level) {
    if (level >= 0)
        return;
    jpeg->err->num_warnings++;
    if (((struct messages *)jpeg->err)->strict)
        on_error(jpeg);
}

static void catch_messages(struct messages *messages, char *text, int strict) {
    jpeg_std_error(&messages->errors);
    messages->errors.error_exit = on_error;
    messages->errors.emit_message = on_message;
    messages->text = text;
    messages->strict = strict;
    text[0] = 0;
}
