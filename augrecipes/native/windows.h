/* Windows of results: only the part of a resized image that is asked for is made. */

#ifndef AUGRECIPES_WINDOWS_H
#define AUGRECIPES_WINDOWS_H

#include "kernels.h"

enum { LONGEST = 1 << 20 }; /* px */

/* Whether height x width pixels from row `top` and column `left` on lie in a result of tall x wide, and all sizes are
   ones that whole numbers of 32 bits and floats can tell apart. */
static inline int is_window(int64_t rows, int64_t columns, int64_t tall, int64_t wide, int64_t top, int64_t left,
                            int64_t height, int64_t width) {
    return rows >= 1 && columns >= 1 && rows <= LONGEST && columns <= LONGEST && tall <= LONGEST && wide <= LONGEST &&
           height >= 1 && width >= 1 && top >= 0 && left >= 0 && top <= tall - height && left <= wide - width;
}

#endif
