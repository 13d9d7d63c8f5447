/* The compiler's layout of the structs of LAYOUT, which Python compares with its own when it loads the library: the
   names of all fields, with offset and size; the size of each struct. The rows of NUMBERS follow. */

#include "layout.h"

#define BEGIN(in)
#define FIELD(in, type, name) ROW(#in "." #name, offsetof(in, name), sizeof(type))
#define ARRAY(in, type, name, count) ROW(#in "." #name, offsetof(in, name), (count) * sizeof(type))
#define END(in) ROW(#in, 0, sizeof(in))
#define DRAW(name, number) ROW("DRAW." #name, number, 0)
#define EFFECT(name, number) ROW("EFFECT." #name, number, 0)
#define OPERATION(name, number) ROW("OPERATION." #name, number, 0)
#define OPTION(name, number) ROW("OPTION." #name, number, 0)
#define LIMIT(name, number) ROW("LIMIT." #name, number, 0)

#define ROW(name, offset, size) name "\n"
EXPORT const char *ar_layout_names(void) {
    return
#include LAYOUT
#if defined(NUMBERS)
#include NUMBERS
#endif
        "";
}
#undef ROW

#define ROW(name, offset, size) offset, size,
EXPORT const int64_t *ar_layout_numbers(void) {
    static const int64_t numbers[] = {
#include LAYOUT
#if defined(NUMBERS)
#include NUMBERS
#endif
    };
    return numbers;
}
