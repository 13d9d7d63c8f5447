/* Records how steps move points, for boxes and keypoints (boxes.c).

   The `moves` of a sample begin with their number, and whether a step came before the first of them. Then come MOVE
   numbers for each: the index of the step, rows and columns before and after it, and the matrix from pixel centres
   before to those after, with the bits of ops/matrices.py. Steps that hide pixels, or move them by a field, have no
   matrix. */

#pragma once

#include "merging.h"

/* The effect of a step, whether it is merged or not. */
static inline int64_t own_effect(const Step *step) {
    int64_t effect = step->effect;
    return OP_MERGES <= effect && effect < OP_MERGED_ENDS ? effect - OP_MERGES : effect;
}

/* Note that a step is done, whether it acted or not. */
static inline void pass_step(const Sample *s) {
    if (s->moves && s->moves[0] == 0)
        s->moves[1] = 1;
}

/* Begin the record of a step; 0 if none is kept. */
static inline double *begin_move(const Run *run, const Step *step, int64_t at) {
    double *moves = run->sample->moves;
    int64_t effect = own_effect(step), rows, columns;
    int moved = (effect <= OP_BENDS_GRID - OP_MERGES && effect != OP_KEEPS) || effect == OP_DISTORTS_GRID ||
                effect == OP_DISTORTS_LENS || effect == OP_FILLS_HOLES;
    if (!moves || !moved)
        return 0;
    moves[0] += 1;
    double *move = moves + MOVE * (int64_t)moves[0];
    visible_size(run, &rows, &columns);
    move[0] = (double)at, move[1] = (double)rows, move[2] = (double)columns;
    return move;
}

static inline void end_move(const Run *run, const Step *step, const double *drawn, double *move) {
    int64_t effect = own_effect(step), height, width, bits = (int64_t)drawn[0];
    double *m = move + 5, y = 1, x = 1, down = 0, across = 0;
    visible_size(run, &height, &width);
    move[3] = (double)height, move[4] = (double)width;
    if (effect == OP_PADS)
        down = drawn[0], across = drawn[2];
    else if (effect == OP_PADS_AND_CROPS)
        down = drawn[4] - drawn[1], across = drawn[6] - drawn[0];
    else if (effect == OP_CROPS || effect == OP_CROPS_AND_RESIZES)
        down = -drawn[1], across = -drawn[0];
    if (effect == OP_RESIZES || effect == OP_SCALES)
        y = move[3] / move[1], x = move[4] / move[2];
    else if (effect == OP_CROPS_AND_RESIZES)
        y = move[3] / (drawn[3] - drawn[1]), x = move[4] / (drawn[2] - drawn[0]);
    memcpy(m, (double[9]){x, 0, x * across + 0.5 * (x - 1), 0, y, y * down + 0.5 * (y - 1), 0, 0, 1}, 9 * sizeof *m);
    if (effect == OP_FLIPS) {
        int transposes = bits & 1, k = transposes;
        m[0] = m[4] = 0;
        m[k] = bits & 4 ? -1 : 1, m[2] = bits & 4 ? move[4] - 1 : 0;
        m[4 - k] = bits & 2 ? -1 : 1, m[5] = bits & 2 ? move[3] - 1 : 0;
    } else if (effect == OP_WARPS)
        memcpy(m, drawn, 6 * sizeof *m);
    else if (effect == OP_WARPS_PERSPECTIVE)
        for (int k = 0; k < 9; k++)
            m[k] = drawn[k] * (k < 3 ? move[4] / drawn[10] : k < 6 ? move[3] / drawn[9] : 1);
}
