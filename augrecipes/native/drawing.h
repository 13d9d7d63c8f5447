/* What a step that draws has: its generators, and the picture that it sees. */

#ifndef AUGRECIPES_DRAWING_H
#define AUGRECIPES_DRAWING_H

#include <math.h>

#include "plan.h"

typedef struct {
    Stream stream;
    Philox philox;
    int64_t rows, columns, channels;
} Drawing;

#endif
