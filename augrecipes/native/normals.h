/* Normal numbers as a sum of four table look-ups (one for each four bits of a half-word), two numbers from each
   random word.

   The tables were fitted until the moments, histogram and tails of the sum were those of a normal distribution; it
   ends at 4.15 deviations, as a distribution of 2^16 numbers does. All arithmetic is in integers, so every
   instruction set gives the same bits. */

#pragma once

#include "counters.h"

/* Indexed by the lower and by the upper half of a byte: the first two tables count once for the first byte of a
   number and RADIX times for its second; the last two, which are subtracted, RADIX times and once. */
static const uint8_t PARTS_OF_NORMALS[4][16] = {
    {99, 61, 88, 94, 69, 76, 2, 63, 64, 125, 51, 58, 33, 39, 66, 28},
    {28, 120, 53, 46, 45, 117, 65, 82, 45, 62, 10, 82, 81, 74, 7, 99},
    {54, 71, 126, 58, 62, 66, 69, 67, 60, 58, 61, 65, 69, 1, 56, 73},
    {37, 59, 71, 45, 98, 61, 15, 84, 43, 112, 66, 29, 82, 56, 68, 90},
};
enum { RADIX = 127 };
static const float SPREAD = 7009.9353f; /* the deviation of the sums */

#define ROW(k) repeat(_mm_loadu_si128((const __m128i *)PARTS_OF_NORMALS[k]))

/* Two sums for each word. */
static inline void sums_of(Words words, int16_t *to) {
#if defined(X86)
    Register low = (Register)(words & 0x0f0f0f0f), high = (Register)(words >> 4 & 0x0f0f0f0f);
    Register more = X86(add_epi8)(X86(shuffle_epi8)(ROW(0), low), X86(shuffle_epi8)(ROW(1), high));
    Register less = X86(add_epi8)(X86(shuffle_epi8)(ROW(2), low), X86(shuffle_epi8)(ROW(3), high));
    more = X86(maddubs_epi16)(more, X86(set1_epi16)(RADIX * 256 + 1));
    less = X86(maddubs_epi16)(less, X86(set1_epi16)(RADIX + 256));
    Register sums = X86(sub_epi16)(more, less);
    memcpy(to, &sums, sizeof sums);
#else
    for (int i = 0; i < 2 * LANES; i++) {
        uint32_t bits = words[i / 2] >> i % 2 * 16, a = bits & 15, b = bits >> 4 & 15, c = bits >> 8 & 15, d = bits >> 12 & 15;
        const uint8_t(*part)[16] = PARTS_OF_NORMALS;
        int32_t more = part[0][a] + part[1][b] + RADIX * (part[0][c] + part[1][d]);
        to[i] = (int16_t)(more - RADIX * (part[2][a] + part[3][b]) - (part[2][c] + part[3][d]));
    }
#endif
}

/* Some normal numbers of a mean and a deviation. */
static inline Floats normals_at(Key key, Words number, float mean, float deviation) {
    int16_t sums[2 * LANES];
    Ints each;
    sums_of(hashed(key, number / 2) >> number % 2 * 16, sums);
    for (int i = 0; i < LANES; i++)
        each[i] = sums[2 * i];
    return floats(each) * (deviation * (1.0f / SPREAD)) + mean;
}

/* SOME sums from number `first` on. */
static inline void some_sums(Key key, uint32_t first, int16_t *to) {
    for (int i = 0; i < SOME; i += 2 * LANES)
        sums_of(words_from(key, (first + (uint32_t)i) / 2), to + i);
}

/* SOME normal numbers of a mean and a deviation, from number `first` on. */
static inline void some_numbers(Key key, uint32_t first, float mean, float deviation, float *out) {
    int16_t sums[SOME];
    deviation *= 1.0f / SPREAD;
    some_sums(key, first, sums);
    for (int i = 0; i < SOME; i++)
        out[i] = sums[i] * deviation + mean;
}
