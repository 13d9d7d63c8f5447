/* Steps that count levels first: channels stretched over the full range, and equalised. */

#ifndef AUGRECIPES_HISTOGRAMS_H
#define AUGRECIPES_HISTOGRAMS_H

#include "tables.h"

enum { RGB = 3 };

/* How often each level comes, in each channel. */
static inline int64_t count_levels(Run *run, int32_t (*counts)[LEVELS]) {
    const int64_t channels = run->view.channels, pixels = run->view.rows * run->view.columns;
    const uint8_t *levels;
    int64_t answer = in_line(run, &levels);
    if (answer != DONE || pixels > INT32_MAX)
        return answer != DONE ? answer : REFUSED;
    if (channels == RGB) /* in this loop the compiler knows how many */
        for (int64_t k = 0; k < pixels * RGB; k += RGB)
            for (int64_t c = 0; c < RGB; c++)
                counts[c][levels[k + c]]++;
    else
        for (int64_t k = 0; k < pixels * channels; k += channels)
            for (int64_t c = 0; c < channels; c++)
                counts[c][levels[k + c]]++;
    return DONE;
}

/* Levels of each channel from its darkest to its lightest over the full range, as albumentations stretches them: white
   does not count as the lightest, since its histogram ends below. */
static inline int64_t stretch_levels(Run *run) {
    const int64_t channels = run->view.channels;
    int32_t counts[MOST_CHANNELS][LEVELS] = {{0}};
    Levels made[MOST_CHANNELS];
    int64_t answer = count_levels(run, counts);
    if (answer != DONE)
        return answer;
    for (int64_t c = 0; c < channels; c++) {
        int low = 0, high = LEVELS - 2;
        while (low < high && !counts[c][low])
            low++;
        while (high > low && !counts[c][high])
            high--;
        double scale = high > low ? 255.0 / (high - low) : 1;
        for (int v = 0; v < LEVELS; v++) {
            double to = rint((v - low) * scale);
            made[c][v] = high > low ? (uint8_t)(to < 0 ? 0 : to > 255 ? 255 : to) : (uint8_t)v;
        }
    }
    then_look_up(run, (const Levels *)made, channels == 1);
    return DONE;
}

/* Levels so that all come about equally often, in each channel: as OpenCV equalises histograms. */
static inline int64_t equalize(Run *run) {
    const int64_t channels = run->view.channels, pixels = run->view.rows * run->view.columns;
    int32_t counts[MOST_CHANNELS][LEVELS] = {{0}};
    Levels made[MOST_CHANNELS];
    int64_t answer = count_levels(run, counts);
    if (answer != DONE)
        return answer;
    for (int64_t c = 0; c < channels; c++) {
        int first = 0;
        while (!counts[c][first])
            first++;
        float scale = 255.0f / (float)(pixels - counts[c][first]);
        int32_t sum = 0;
        for (int k = 0; k < LEVELS; k++) {
            sum += k > first ? counts[c][k] : 0;
            made[c][k] = counts[c][first] == pixels ? (uint8_t)first : level_of(rintf((float)sum * scale));
        }
    }
    then_look_up(run, (const Levels *)made, channels == 1);
    return DONE;
}

#endif
