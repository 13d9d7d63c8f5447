/* The structs that Python and C share, of the one list layout.def: C has them of this, Python packs them by the same list
   (layout.py), and layout_table.h exports what the compiler made of it. They have no gaps, as Python puts none. */

#pragma once

#include "export.h"

#if !defined(LAYOUT) /* that of the codec is another one */
#define LAYOUT "layout.def"
#define NUMBERS "ops.def"
#include "ops.h"

/* Decodes a window of a file: pixels side by side, each row right behind the other. Answers 0, or says why not. */
typedef int32_t (*Decode)(const uint8_t *file, const void *window, void *memory, uint8_t *pixels, char *message);
enum { MESSAGE_BYTES = 256 }; /* of what a decoder says, at most */
#endif

#define BEGIN(in) typedef struct {
#define FIELD(in, type, name) type name;
#define ARRAY(in, type, name, count) type name[count];
#define END(in) } in;
#include LAYOUT
#undef BEGIN
#undef FIELD
#undef ARRAY
#undef END

#define BEGIN(in) _Static_assert(sizeof(in) == 0
#define FIELD(in, type, name) + sizeof(type)
#define ARRAY(in, type, name, count) + (count) * sizeof(type)
#define END(in) , #in " has gaps");
#include LAYOUT
#undef BEGIN
#undef FIELD
#undef ARRAY
#undef END
