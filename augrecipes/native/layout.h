/* The structs that Python and C share, from the single list layout.def: C structs are made from it here, Python packs
   by the same list (layout.py), and layout_table.h exports the compiler's layout. There are no gaps, since Python
   packs none. */

#pragma once

#include "export.h"

#if !defined(LAYOUT) /* the codec has its own */
#define LAYOUT "layout.def"
#define NUMBERS "ops.def"
#include "ops.h"

/* Decodes a window of a file into pixels without gaps. Returns 0 on success; otherwise `message` says why not. */
typedef int32_t (*Decode)(const uint8_t *file, const void *window, void *memory, uint8_t *pixels, char *message);
enum { MESSAGE_BYTES = 256 }; /* the longest message of a decoder */
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
