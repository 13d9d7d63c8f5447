/* Paints discs over an image one after another; each applies the same table to the levels under it.

   A pixel depends only on the number of discs over it: they are counted first, by their start and end in each row. A
   table that never lowers a level is at rest after at most as many applications as there are levels. */

#include "kernels.h"

#include <string.h>


/* Count the starts and ends of discs in each row. */
static void count_ends(int64_t rows, int64_t columns, const int32_t *places, int64_t count, const int32_t *spans,
                const int32_t *starts, int32_t least, int32_t *ends) {
    for (int64_t k = 0; k < count; k++) {
        int64_t at_x = places[3 * k], at_y = places[3 * k + 1], radius = places[3 * k + 2];
        const int32_t *span = spans + starts[radius - least];
        for (int64_t y = at_y - radius; y <= at_y + radius; y++, span += 2) {
            int64_t first = MAX(at_x + span[0], 0), stop = MIN(at_x + span[1], columns);
            if (y >= 0 && y < rows && first < stop) {
                ends[y * (columns + 1) + first]++;
                ends[y * (columns + 1) + stop]--;
            }
        }
    }
}

/* Paint discs into an image.

   image:  rows x columns x channels uint8 without gaps
   places: count x 3: x, y and radius of each disc, within int16
   spans, starts, least: the shape of a disc by its radius: from starts[radius - least] on, 2 * radius + 1 pairs with the
           start and end of each of its rows, relative to the centre
   table:  256 levels, none below its index
   turns:  workspace of 256 x 256; ends: workspace of rows x (columns + 1) */
KERNEL(discs)(uint8_t *image, int64_t rows, int64_t columns, int64_t channels, const int32_t *places, int64_t count,
              const int32_t *spans, const int32_t *starts, int32_t least, const uint8_t *table, uint8_t *turns,
              int32_t *ends) {
    int32_t known = 0;
    if (rows < 0 || columns < 0 || channels < 1 || count < 0)
        return REFUSED;
    for (int32_t v = 0; v < LEVELS; v++) {
        turns[v] = (uint8_t)v;
        if (table[v] < v)
            return REFUSED;
    }
    memset(ends, 0, (size_t)(rows * (columns + 1)) * sizeof *ends);
    count_ends(rows, columns, places, count, spans, starts, least, ends);
    for (int64_t y = 0; y < rows; y++) {
        int32_t over = 0;
        for (int64_t x = 0; x < columns; x++, image += channels) {
            over += ends[y * (columns + 1) + x];
            int32_t often = MIN(over, LEVELS - 1);
            for (; known < often; known++)
                for (int32_t v = 0; v < LEVELS; v++)
                    turns[LEVELS * (known + 1) + v] = table[turns[LEVELS * known + v]];
            for (int64_t c = 0; c < channels; c++)
                image[c] = turns[LEVELS * often + image[c]];
        }
    }
    return DONE;
}
