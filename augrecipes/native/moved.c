/* Moves pixels: reverses rows, transposes, and reorders channels.

   Crops and flips are lazy until pixels are read (see view.h); here they are applied. */

#include <string.h>

#include "planes.h"

enum { FIVE = 15, TILE = 32 }; /* FIVE: bytes of five pixels; TILE: px of the tiles of a transposition */

#if defined(__SSSE3__)
#define SHUFFLES 1
typedef __m128i Bytes;
static inline Bytes bytes_at(const uint8_t *from) { return _mm_loadu_si128((const __m128i *)from); }
static inline void put(Bytes bytes, uint8_t *to) { _mm_storeu_si128((__m128i *)to, bytes); }
static inline Bytes chosen(Bytes bytes, Bytes places) { return _mm_shuffle_epi8(bytes, places); }
static inline Bytes first_pixels(Bytes a, Bytes b) { return _mm_unpacklo_epi32(a, b); }
static inline Bytes last_pixels(Bytes a, Bytes b) { return _mm_unpackhi_epi32(a, b); }
static inline Bytes first_pairs(Bytes a, Bytes b) { return _mm_unpacklo_epi64(a, b); }
static inline Bytes last_pairs(Bytes a, Bytes b) { return _mm_unpackhi_epi64(a, b); }
static inline Bytes of_words(uint64_t first, uint32_t last) {
    return _mm_unpacklo_epi64(_mm_cvtsi64_si128((int64_t)first), _mm_cvtsi32_si128((int32_t)last));
}
static inline Bytes eight_at(const uint8_t *from) { return _mm_loadl_epi64((const __m128i *)from); }
static inline Bytes bytes_in_turn(Bytes a, Bytes b) { return _mm_unpacklo_epi8(a, b); }
static inline Bytes first_twos(Bytes a, Bytes b) { return _mm_unpacklo_epi16(a, b); }
static inline Bytes last_twos(Bytes a, Bytes b) { return _mm_unpackhi_epi16(a, b); }
static inline uint64_t first_word(Bytes a) { return (uint64_t)_mm_cvtsi128_si64(a); }
static inline uint32_t last_word(Bytes a) { return (uint32_t)_mm_cvtsi128_si32(_mm_unpackhi_epi64(a, a)); }
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#define SHUFFLES 1
typedef uint8x16_t Bytes;
#define ZIP(which, lanes, a, b) \
    vreinterpretq_u8_u##lanes(vzip##which##q_u##lanes(vreinterpretq_u##lanes##_u8(a), vreinterpretq_u##lanes##_u8(b)))
static inline Bytes bytes_at(const uint8_t *from) { return vld1q_u8(from); }
static inline void put(Bytes bytes, uint8_t *to) { vst1q_u8(to, bytes); }
static inline Bytes chosen(Bytes bytes, Bytes places) { return vqtbl1q_u8(bytes, places); }
static inline Bytes first_pixels(Bytes a, Bytes b) { return ZIP(1, 32, a, b); }
static inline Bytes last_pixels(Bytes a, Bytes b) { return ZIP(2, 32, a, b); }
static inline Bytes first_pairs(Bytes a, Bytes b) { return ZIP(1, 64, a, b); }
static inline Bytes last_pairs(Bytes a, Bytes b) { return ZIP(2, 64, a, b); }
static inline Bytes of_words(uint64_t first, uint32_t last) { return vcombine_u8(vcreate_u8(first), vcreate_u8(last)); }
static inline Bytes eight_at(const uint8_t *from) { return vcombine_u8(vld1_u8(from), vcreate_u8(0)); }
static inline Bytes bytes_in_turn(Bytes a, Bytes b) { return vzip1q_u8(a, b); }
static inline Bytes first_twos(Bytes a, Bytes b) { return ZIP(1, 16, a, b); }
static inline Bytes last_twos(Bytes a, Bytes b) { return ZIP(2, 16, a, b); }
static inline uint64_t first_word(Bytes a) { return vgetq_lane_u64(vreinterpretq_u64_u8(a), 0); }
static inline uint32_t last_word(Bytes a) { return vgetq_lane_u32(vreinterpretq_u32_u8(a), 2); }
#else
#define SHUFFLES 0
#endif

/* Reverse the pixels of a row, each of them a `type`. */
#define BACKWARDS(name, type) \
    static void name(const uint8_t *restrict from, int64_t count, uint8_t *restrict to) { \
        for (int64_t x = 0; x < count; x++) { \
            type pixel; \
            memcpy(&pixel, from + (count - 1 - x) * (int64_t)sizeof pixel, sizeof pixel); \
            memcpy(to + x * (int64_t)sizeof pixel, &pixel, sizeof pixel); \
        } \
    }

BACKWARDS(bytes_backwards, uint8_t)
BACKWARDS(twos_backwards, uint16_t)
BACKWARDS(fours_backwards, uint32_t)

static void threes_backwards(const uint8_t *restrict from, int64_t count, uint8_t *restrict to) {
    int64_t x = 0;
#if SHUFFLES /* the byte before the five is loaded with them: the bytes after them may not be ours */
    static const uint8_t order[16] = {13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0};
    const Bytes places = bytes_at(order);
#pragma GCC unroll 4
    for (; 3 * (count - x) > FIVE; x += 5)
        put(chosen(bytes_at(from + 3 * (count - x) - FIVE - 1), places), to + 3 * x);
#endif
    for (; x < count; x++)
        for (int c = 0; c < 3; c++)
            to[3 * x + c] = from[3 * (count - 1 - x) + c];
}

static void backwards(const uint8_t *from, int64_t count, int64_t channels, uint8_t *to) {
    if (channels == 3)
        threes_backwards(from, count, to);
    else
        (channels == 1 ? bytes_backwards : channels == 2 ? twos_backwards : fours_backwards)(from, count, to);
}

#if SHUFFLES
/* Load four pixels as four bytes each, and store them: with three channels only twelve bytes are touched. */
static inline Bytes four_at(const uint8_t *from, int64_t channels) {
    static const uint8_t apart[16] = {0, 1, 2, 255, 3, 4, 5, 255, 6, 7, 8, 255, 9, 10, 11, 255};
    uint64_t first;
    uint32_t last;
    if (channels == 4)
        return bytes_at(from);
    memcpy(&first, from, sizeof first), memcpy(&last, from + sizeof first, sizeof last);
    return chosen(of_words(first, last), bytes_at(apart));
}

static inline void put_four(Bytes bytes, int64_t channels, uint8_t *to) {
    static const uint8_t close[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 255, 255, 255, 255};
    if (channels == 4) {
        put(bytes, to);
        return;
    }
    Bytes three = chosen(bytes, bytes_at(close));
    uint64_t first = first_word(three);
    uint32_t last = last_word(three);
    memcpy(to, &first, sizeof first), memcpy(to + sizeof first, &last, sizeof last);
}

static inline void put_rows(Bytes two, uint8_t *to, int64_t step) {
    uint64_t words[2] = {first_word(two), first_word(last_pairs(two, two))};
    memcpy(to, words, 8), memcpy(to + step, words + 1, 8);
}

/* Transpose a block of 8 x 8 bytes. */
static inline void turn_bytes(const uint8_t *from, int64_t across, uint8_t *to, int64_t step) {
    Bytes pairs[4], low[2], high[2];
    for (int k = 0; k < 4; k++)
        pairs[k] = bytes_in_turn(eight_at(from + 2 * k * across), eight_at(from + (2 * k + 1) * across));
    for (int k = 0; k < 2; k++) {
        low[k] = first_twos(pairs[2 * k], pairs[2 * k + 1]);
        high[k] = last_twos(pairs[2 * k], pairs[2 * k + 1]);
    }
    put_rows(first_pixels(low[0], low[1]), to, step);
    put_rows(last_pixels(low[0], low[1]), to + 2 * step, step);
    put_rows(first_pixels(high[0], high[1]), to + 4 * step, step);
    put_rows(last_pixels(high[0], high[1]), to + 6 * step, step);
}

/* Transpose a block of 4 x 4 pixels, or of 8 x 8 with one channel. */
static inline void turn_block(const uint8_t *from, int64_t across, int64_t channels, uint8_t *to, int64_t step) {
    if (channels == 1) {
        turn_bytes(from, across, to, step);
        return;
    }
    Bytes a = four_at(from, channels), b = four_at(from + across, channels);
    Bytes c = four_at(from + 2 * across, channels), d = four_at(from + 3 * across, channels);
    Bytes one = first_pixels(a, b), two = first_pixels(c, d), three = last_pixels(a, b), four = last_pixels(c, d);
    put_four(first_pairs(one, two), channels, to);
    put_four(last_pairs(one, two), channels, to + step);
    put_four(first_pairs(three, four), channels, to + 2 * step);
    put_four(last_pairs(three, four), channels, to + 3 * step);
}
#endif

/* Copy pixels one by one. */
static inline void copy_each(const uint8_t *from, int64_t down, int64_t across, int64_t rows, int64_t columns,
                             int64_t channels, uint8_t *to, int64_t step) {
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++)
            for (int64_t c = 0; c < channels; c++)
                to[y * step + x * channels + c] = from[y * down + x * across + c];
}

/* Transpose tile by tile, so that cache lines are reused. */
static inline void turn_tiles(const uint8_t *from, int64_t down, int64_t across, int64_t rows, int64_t columns,
                              int64_t channels, uint8_t *to, int64_t step) {
    for (int64_t left = 0; left < columns; left += TILE)
        for (int64_t top = 0; top < rows; top += TILE) {
            int64_t y = top, bottom = MIN(top + TILE, rows), right = MIN(left + TILE, columns);
#if SHUFFLES
            const int64_t side = channels == 1 ? 8 : 4;
            for (; channels != 2 && down == channels && y + side <= bottom; y += side) {
                int64_t x = left;
                for (; x + side <= right; x += side)
                    turn_block(from + y * down + x * across, across, channels, to + y * step + x * channels, step);
                copy_each(from + y * down + x * across, down, across, side, right - x, channels,
                          to + y * step + x * channels, step);
            }
#endif
            copy_each(from + y * down + left * across, down, across, bottom - y, right - left, channels,
                      to + y * step + left * channels, step);
        }
}

/* Copy an image whose rows are `down` and whose pixels are `across` bytes apart into upright order, its rows `step`
   bytes apart. */
KERNEL(moved)(const uint8_t *from, int64_t down, int64_t across, int64_t rows, int64_t columns, int64_t channels, uint8_t *to,
              int64_t step) {
    if (channels < 1 || channels > 4)
        return REFUSED;
    for (int64_t y = 0; y < rows && across == channels; y++)
        memcpy(to + y * step, from + y * down, (size_t)(columns * channels));
    for (int64_t y = 0; y < rows && across == -channels; y++)
        backwards(from + y * down + (columns - 1) * across, columns, channels, to + y * step);
    if (across == channels || across == -channels)
        return DONE;
    if (down < 0) /* from below, so that the pixels of a column are in increasing order */
        from += (rows - 1) * down, to += (rows - 1) * step, down = -down, step = -step;
    CALL_WITH(channels, turn_tiles(from, down, across, rows, columns, N, to, step))
    return DONE;
}

/* Reorder the channels of pixels; `to` may be `from`. */
KERNEL(reordered)(const uint8_t *from, int64_t count, int64_t channels, const uint8_t *order, uint8_t *to) {
    uint8_t was[4];
    int64_t x = 0;
    if (channels < 1 || channels > 4)
        return REFUSED;
    for (int64_t c = 0; c < channels; c++)
        if (order[c] >= channels)
            return REFUSED;
#if SHUFFLES
    if (channels >= 3) {
        const int64_t some = channels == 3 ? 5 : 4;
        uint8_t each[16];
        for (int64_t k = 0; k < 16; k++)
            each[k] = (uint8_t)(k < some * channels ? k / channels * channels + order[k % channels] : k);
        const Bytes places = bytes_at(each);
        for (; channels * (count - x) >= 16; x += some)
            put(chosen(bytes_at(from + channels * x), places), to + channels * x);
    }
#endif
    for (; x < count; x++) {
        for (int64_t c = 0; c < channels; c++)
            was[c] = from[channels * x + c];
        for (int64_t c = 0; c < channels; c++)
            to[channels * x + c] = was[order[c]];
    }
    return DONE;
}
