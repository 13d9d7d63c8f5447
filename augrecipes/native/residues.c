/* Restores a tile of a losslessly stored image from the residues of its planes.

   images/lossless.py defines the format, and does the same without kernels. */

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernels.h"

enum { WIDE = 512, TOGETHER = 4, LANE = 16, ACROSS = 1, GREEN = 2 };

/* A row of a plane from the row above: add the residues. */
static inline void down(const uint8_t *restrict residues, int64_t columns, uint8_t *restrict row) {
    for (int64_t x = 0; x < columns; x++)
        row[x] = (uint8_t)(row[x] + residues[x]);
}

/* The same: add the running sums of the residues. */
static inline void across_and_down(const uint8_t *restrict residues, int64_t columns, uint8_t *restrict row) {
    int64_t x = 0;
    uint8_t left = 0;
#if defined(__SSE2__)
    /* Prefix sums by doubling: of two neighbours, of four, of eight, of sixteen. The carry does not wait for the
       shifts: the sum of all sixteen residues is computed separately. */
    uint32_t before = 0;
    for (; x + LANE <= columns; x += LANE) {
        __m128i sums = _mm_loadu_si128((const __m128i *)(residues + x));
        __m128i all = _mm_sad_epu8(sums, _mm_setzero_si128());
        sums = _mm_add_epi8(sums, _mm_slli_si128(sums, 1));
        sums = _mm_add_epi8(sums, _mm_slli_si128(sums, 2));
        sums = _mm_add_epi8(sums, _mm_slli_si128(sums, 4));
        sums = _mm_add_epi8(sums, _mm_slli_si128(sums, 8));
        sums = _mm_add_epi8(sums, _mm_set1_epi8((char)before));
        before += (uint32_t)_mm_cvtsi128_si32(all) + (uint32_t)_mm_extract_epi16(all, 4);
        sums = _mm_add_epi8(sums, _mm_loadu_si128((const __m128i *)(row + x)));
        _mm_storeu_si128((__m128i *)(row + x), sums);
    }
    left = (uint8_t)before;
#endif
    for (; x < columns; x++) {
        left = (uint8_t)(left + residues[x]);
        row[x] = (uint8_t)(row[x] + left);
    }
}

/* Interleave rows of up to four planes, `planes` bytes from pixel to pixel. */
static inline void interleave_planes(uint8_t *const *rows, int64_t together, int64_t planes, int64_t columns, uint8_t *restrict to) {
    const uint8_t *from[TOGETHER] = {rows[0], rows[1], rows[2], rows[3]};
    for (int64_t x = 0; x < columns; x++)
        for (int64_t p = 0; p < together; p++)
            to[planes * x + p] = from[p][x];
}

static inline void interleave(uint8_t *const *rows, int64_t together, int64_t planes, int64_t columns, uint8_t *to) {
    if (planes <= TOGETHER)
        CALL_WITH(planes, interleave_planes(rows, N, N, columns, to))
    else
        interleave_planes(rows, together, planes, columns, to);
}

/* Restore a tile.

   residues: planes x rows x columns
   target:   rows x columns x planes; step: bytes from row to row
   way:      ACROSS: residues are differences along the row, too; GREEN: the first planes are red and blue less green */
KERNEL(residues)(const uint8_t *residues, int64_t planes, int64_t rows, int64_t columns, uint8_t *target, int64_t step,
                 int32_t way) {
    uint8_t held[TOGETHER][WIDE], red[WIDE], blue[WIDE];
    if (columns < 1 || columns > WIDE || rows < 1 || planes < (way & GREEN ? 3 : 1))
        return REFUSED;
    for (int64_t first = 0; first < planes; first += TOGETHER) {
        int64_t together = MIN(planes - first, TOGETHER);
        uint8_t *const plain[TOGETHER] = {held[0], held[1], held[2], held[3]};
        uint8_t *const colours[TOGETHER] = {red, held[1], blue, held[3]};
        memset(held, 0, sizeof held);
        for (int64_t y = 0; y < rows; y++) {
            for (int64_t p = 0; p < together; p++)
                (way & ACROSS ? across_and_down : down)(residues + ((first + p) * rows + y) * columns, columns, held[p]);
            int of_green = way & GREEN && first == 0;
            if (of_green)
                for (int64_t x = 0; x < columns; x++) {
                    red[x] = (uint8_t)(held[0][x] + held[1][x]);
                    blue[x] = (uint8_t)(held[2][x] + held[1][x]);
                }
            interleave(of_green ? colours : plain, together, planes, columns, target + y * step + first);
        }
    }
    return DONE;
}
