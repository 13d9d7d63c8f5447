/* Colours to hue, lightness and saturation and back, as OpenCV computes them, and lightness through a table between. */

#include "hls.h"

static inline int32_t nearest_level(float x) { return (int32_t)(x + 12582912.0f - 12582912.0f); }

static inline uint8_t as_level(float x) { return (uint8_t)MIN(MAX(nearest_level(x * 255.0f), 0), 255); }

/* Levels through hue, of half degrees, lightness and saturation, which are levels, too. */
static inline __attribute__((always_inline)) void through(uint8_t (*levels)[ACROSS], Planes p, int64_t count,
                                                          const uint8_t *lighter, Way way) {
    const float part = 1.0f / 255.0f;
    for (int c = 0; c < COLOURS; c++)
        for (int64_t x = 0; x < count; x++)
            p[c][x] = (float)levels[c][x] * part;
    to_hls(p, count, 180.0f, way);
    for (int64_t x = 0; x < count; x++)
        levels[1][x] = as_level(p[1][x]);
    for (int64_t x = 0; x < count; x++)
        levels[1][x] = lighter[levels[1][x]];
    for (int64_t x = 0; x < count; x++) {
        p[0][x] = (float)nearest_level(p[0][x]);
        p[1][x] = (float)levels[1][x] * part;
        p[2][x] = (float)as_level(p[2][x]) * part;
    }
    from_hls(p, count, 180.0f, way);
    for (int c = 0; c < COLOURS; c++)
        for (int64_t x = 0; x < count; x++)
            levels[c][x] = as_level(p[c][x]);
}

/* Images whose lightness is looked up.

   source, target: rows x columns x 3 uint8, each row behind the other; target may be source
   lighter: 256 levels
   lanes: pixels that OpenCV takes at a time; fused: whether it fuses */
KERNEL(snow)(const uint8_t *source, int64_t rows, int64_t columns, const uint8_t *lighter, int64_t lanes, int32_t fused,
             uint8_t *target) {
    uint8_t levels[COLOURS][ACROSS];
    Planes planes;
    int64_t body = columns - columns % MAX(lanes, 1);
    if (rows < 0 || columns < 0 || lanes < 1)
        return REFUSED;
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0, some; x < columns; x += some) {
            some = MIN(ACROSS, (x < body ? body : columns) - x);
            take_apart(source + 3 * (y * columns + x), some, levels);
            if (x >= body)
                through(levels, planes, some, lighter, (Way){1, fused});
            else if (fused)
                through(levels, planes, some, lighter, (Way){0, 1});
            else
                through(levels, planes, some, lighter, (Way){0, 0});
            put_together(levels, some, target + 3 * (y * columns + x));
        }
    return DONE;
}
