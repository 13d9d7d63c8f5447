/* The numbers of ops.def as names. */

#ifndef AUGRECIPES_OPS_H
#define AUGRECIPES_OPS_H

#define DRAW(name, number) DRAWS_##name = number,
#define EFFECT(name, number) name = number,
#define OPERATION(name, number) name = number,
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

#endif
