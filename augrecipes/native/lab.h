/* Red, green and blue to Lab and back, level by level as OpenCV has it: whole numbers, and tables of them.

   All sums on the way to Lab are below 2^24, and so exact in float. */

#ifndef AUGRECIPES_LAB_H
#define AUGRECIPES_LAB_H

#include "lanes.h"
#include "layout.h"
#include "planes.h"

static inline Ints root(const Lab *lab, Floats red, Floats green, Floats blue, const float *weights) {
    Floats sum = red * weights[0] + green * weights[1] + blue * weights[2] + 2048.0f;
    Ints place = truncated(sum * (1.0f / 4096.0f));
    return (Ints)gather((const uint8_t *)lab->roots, place << 1) & 0xffff;
}

/* Planes of red, green and blue become planes of L, a and b. */
static inline void to_lab(const Lab *lab, int64_t count, uint8_t (*planes)[ACROSS]) {
    for (int64_t x = 0; x < count; x += LANES) {
        Floats light[COLOURS];
        for (int32_t c = 0; c < COLOURS; c++)
            light[c] = (Floats)gather((const uint8_t *)lab->light, from_bytes(planes[c] + x) << 2);
        Floats fx = floats(root(lab, light[0], light[1], light[2], lab->there));
        Floats fy = floats(root(lab, light[0], light[1], light[2], lab->there + 3));
        Floats fz = floats(root(lab, light[0], light[1], light[2], lab->there + 6));
        /* With 16384, which rounds; and 128 times 32768 is where a and b are 0. */
        to_bytes(truncated((fy * 296.0f - 1320550.0f) * (1.0f / 32768.0f)), planes[0] + x);
        to_bytes(truncated(((fx - fy) * 500.0f + 4210688.0f) * (1.0f / 32768.0f)), planes[1] + x);
        to_bytes(truncated(((fy - fz) * 200.0f + 4210688.0f) * (1.0f / 32768.0f)), planes[2] + x);
    }
}

/* X or Z out of its root, times 2^14 both. Near black it is a line: divided by 841, the fraction dropped. */
static inline Ints cube(Ints v) {
    Ints made = ((v * v) >> 14) * v >> 14, low = v <= 3390;
    if (any(low)) {
        Floats rise = floats(v * 108);
        Floats half = (Floats)(((Ints)rise & INT32_MIN) | 0x3f000000);
        Ints line = truncated((rise + half) * (1.0f / 841.0f)) - 290;
        made = (made & ~low) | (line & low);
    }
    return made;
}

static inline Ints level(const Lab *lab, Ints x, Ints y, Ints z, const int32_t *weights) {
    Ints light = (weights[0] * x + weights[1] * y + weights[2] * z + 8192) >> 14;
    Ints most = light > 4095;
    light = (light & ~most) | (4095 & most);
    return (Ints)gather(lab->levels, light & ~(light >> 31)) & 0xff;
}

/* Planes of L, a and b become planes of red, green and blue. */
static inline void from_lab(const Lab *lab, int64_t count, uint8_t (*planes)[ACROSS]) {
    for (int64_t x = 0; x < count; x += LANES) {
        Ints step = (Ints)gather((const uint8_t *)lab->steps, from_bytes(planes[0] + x) << 2);
        Ints y = step & 0xffff, root_y = (Ints)((Words)step >> 16);
        Ints of_a = ((from_bytes(planes[1] + x) * (5 * 53687) + 128) >> 13) - 4194;
        Ints of_b = ((from_bytes(planes[2] + x) * 41943 + 16) >> 9) - 10484;
        Ints cx = cube(root_y + of_a), cz = cube(root_y - of_b);
        to_bytes(level(lab, cx, y, cz, lab->back), planes[0] + x);
        to_bytes(level(lab, cx, y, cz, lab->back + 3), planes[1] + x);
        to_bytes(level(lab, cx, y, cz, lab->back + 6), planes[2] + x);
    }
}

#endif
