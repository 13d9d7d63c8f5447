/* A tile of a picture that is kept without loss, put together from what is left of its planes.

   Beside sources/lossless.py, which says what that is, and does the same where there are no kernels. */

#include <string.h>

#include "kernels.h"

enum { WIDE = 512, COLOURS = 3 };

/* A row of a plane: of the first one what follows on what is left of it, of others on the row above. */
static inline void row_of(const uint8_t *restrict residues, int64_t columns, int first, uint8_t *restrict row) {
    if (first) {
        uint8_t before = 0;
        for (int64_t x = 0; x < columns; x++)
            row[x] = before = (uint8_t)(before + residues[x]);
    } else
        for (int64_t x = 0; x < columns; x++)
            row[x] = (uint8_t)(row[x] + residues[x]);
}

/* residues: planes x rows x columns
   target:   rows x columns x planes; step: bytes from row to row
   coloured: the first three planes are red less green, green, and blue less green */
KERNEL(residues)(const uint8_t *residues, int64_t planes, int64_t rows, int64_t columns, uint8_t *target, int64_t step,
                 int32_t coloured) {
    uint8_t held[COLOURS][WIDE];
    if (columns < 1 || columns > WIDE || rows < 1 || planes < (coloured ? COLOURS : 1))
        return REFUSED;
    int64_t of_plane = rows * columns;
    if (coloured) {
        for (int64_t y = 0; y < rows; y++) {
            for (int p = 0; p < COLOURS; p++)
                row_of(residues + p * of_plane + y * columns, columns, y == 0, held[p]);
            uint8_t *restrict to = target + y * step;
            if (planes == COLOURS)
                for (int64_t x = 0; x < columns; x++) {
                    uint8_t green = held[1][x];
                    to[3 * x] = (uint8_t)(held[0][x] + green);
                    to[3 * x + 1] = green;
                    to[3 * x + 2] = (uint8_t)(held[2][x] + green);
                }
            else
                for (int64_t x = 0; x < columns; x++) {
                    uint8_t green = held[1][x];
                    to[planes * x] = (uint8_t)(held[0][x] + green);
                    to[planes * x + 1] = green;
                    to[planes * x + 2] = (uint8_t)(held[2][x] + green);
                }
        }
    }
    for (int64_t p = coloured ? COLOURS : 0; p < planes; p++)
        for (int64_t y = 0; y < rows; y++) {
            row_of(residues + p * of_plane + y * columns, columns, y == 0, held[0]);
            uint8_t *restrict to = target + y * step + p;
            if (planes == 1)
                memcpy(to, held[0], (size_t)columns);
            else
                for (int64_t x = 0; x < columns; x++)
                    to[planes * x] = held[0][x];
        }
    return DONE;
}
