/* Steps that need a histogram first: stretching of the range, and equalisation. */

#pragma once

#include "tables.h"

/* Stretch levels from the darkest to the lightest over the full range, as albumentations does, linearly or by
   cumulative counts: white never counts as the lightest, because its histogram ends below. */
static inline void stretch_levels(const int32_t *counts, int by_counts, uint8_t *levels) {
    int low = 0, high = LEVELS - 2;
    while (low < high && !counts[low])
        low++;
    while (high > low && !counts[high])
        high--;
    double scale = high > low ? 255.0 / (high - low) : 1;
    int32_t all = 0, darker = 0;
    for (int v = low + 1; v <= high; v++)
        all += counts[v];
    for (int v = 0; v < LEVELS; v++) {
        darker += v > low && v <= high ? counts[v] : 0;
        double to = by_counts ? rintf((float)darker * 255.0f / (float)MAX(all, 1)) : rint((v - low) * scale);
        levels[v] = high > low ? (uint8_t)(to < 0 ? 0 : to > 255 ? 255 : to) : (uint8_t)v;
    }
}

/* Equalise levels as OpenCV does. */
static inline void equalize_levels(const int32_t *counts, int64_t pixels, uint8_t *levels) {
    int first = 0;
    while (!counts[first])
        first++;
    float scale = 255.0f / (float)(pixels - counts[first]);
    int32_t sum = 0;
    for (int k = 0; k < LEVELS; k++) {
        sum += k > first ? counts[k] : 0;
        levels[k] = counts[first] == pixels ? (uint8_t)first : level_of(rintf((float)sum * scale));
    }
}

/* Tables for one channel or three, from the histogram of each. */
static inline int64_t spread_levels(Run *run, int equalizes, int by_counts) {
    const int64_t channels = run->view.channels, pixels = run->view.rows * run->view.columns;
    int32_t counts[COLOURS][LEVELS] = {{0}};
    Levels result[COLOURS];
    const uint8_t *levels;
    TRY(contiguous_image(run, &levels));
    if (pixels > (by_counts ? 1 << 24 : INT32_MAX)) /* sums in float32 are exact up to this */
        return REFUSED;
    if (channels == COLOURS) /* the constant lets the compiler unroll this loop */
        for (int64_t k = 0; k < pixels * COLOURS; k += COLOURS)
            for (int64_t c = 0; c < COLOURS; c++)
                counts[c][levels[k + c]]++;
    else
        for (int64_t k = 0; k < pixels; k++)
            counts[0][levels[k]]++;
    for (int64_t c = 0; c < channels; c++)
        equalizes ? equalize_levels(counts[c], pixels, result[c]) : stretch_levels(counts[c], by_counts, result[c]);
    append_tables(run, (const Levels *)result, channels == 1);
    return DONE;
}
