/* What the compiler made of the structs of LAYOUT, which Python compares with its own when it loads the library: the names
   of all fields, and where each lies and how many bytes it takes; of each struct its size. The rows of NUMBERS follow. */

#include "layout.h"

#define ROW(name) name "\n"
#define BEGIN(in)
#define FIELD(in, type, name) ROW(#in "." #name)
#define ARRAY(in, type, name, count) ROW(#in "." #name)
#define END(in) ROW(#in)
#define DRAW(name, number) ROW("DRAW." #name)
#define EFFECT(name, number) ROW("EFFECT." #name)
#define OPERATION(name, number) ROW("OPERATION." #name)
#define OPTION(name, number) ROW("OPTION." #name)
#define LIMIT(name, number) ROW("LIMIT." #name)
EXPORT const char *ar_layout_names(void) {
    return
#include LAYOUT
#if defined(NUMBERS)
#include NUMBERS
#endif
        "";
}
#undef FIELD
#undef ARRAY
#undef END
#undef DRAW
#undef EFFECT
#undef OPERATION
#undef OPTION
#undef LIMIT

#define FIELD(in, type, name) offsetof(in, name), sizeof(type),
#define ARRAY(in, type, name, count) offsetof(in, name), (count) * sizeof(type),
#define END(in) 0, sizeof(in),
#define DRAW(name, number) number, 0,
#define EFFECT(name, number) number, 0,
#define OPERATION(name, number) number, 0,
#define OPTION(name, number) number, 0,
#define LIMIT(name, number) number, 0,
EXPORT const int64_t *ar_layout_numbers(void) {
    static const int64_t numbers[] = {
#include LAYOUT
#if defined(NUMBERS)
#include NUMBERS
#endif
    };
    return numbers;
}
