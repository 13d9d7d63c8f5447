/* A program: what a compiled recipe does to images, as numbers, so that samples run one after another without Python.

   layout.def has the fields of programs, steps and samples. */

#ifndef AUGRECIPES_PROGRAM_H
#define AUGRECIPES_PROGRAM_H

#include "kernels.h"
#include "layout.h"
#include "streams.h"

enum { IDLE = 1, UNLIKE = 1 }; /* of program_draws: the step does not act; of program: see there */

#endif
