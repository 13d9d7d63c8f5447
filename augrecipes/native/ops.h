/* The numbers of ops.def as names: DRAW_SCALE, OP_CROPS (an effect), COLOUR_HUE (an operation); options and limits have
   no prefix. */

#pragma once

#define DRAW(name, number) DRAW_##name = number,
#define EFFECT(name, number) OP_##name = number,
#define OPERATION(name, number) COLOUR_##name = number,
#define OPTION(name, number) name = number,
#define LIMIT(name, number) name = number,
enum {
#include "ops.def"
};
#undef DRAW
#undef EFFECT
#undef OPERATION
#undef OPTION
#undef LIMIT
