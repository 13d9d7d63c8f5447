/* Gaussian noise as cv2.randn draws it: a multiply-with-carry generator and a ziggurat of 128 strips (Marsaglia and
   Tsang 2000), whose tables Python computes.

   A state s of 64 bits is followed by s / 2^32 modulo 4164903690 * 2^32 - 1, so that a sequence can be entered
   anywhere: STRETCHES of it are generated side by side. Numbers outside of the fast path of their strip (`hard`) are
   drawn one by one, afterwards.

   Bits: OpenCV's, float32 for the number, double for its scale. compiler/lowering/make_program.py probes that, and leaves
   to OpenCV what this kernel refuses.
   Law: tests/laws/test_native_points.py, tests/laws/test_native_plan.py. */

#include <string.h>

#include "kernels.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

__extension__ typedef unsigned __int128 Wide;

#define CARRY UINT64_C(4164903690)
#define MODULUS ((CARRY << 32) - 1)
enum { STRETCHES = 8, LENGTH = 256, WORDS = STRETCHES * LENGTH, STRIPS = 128 };
static const uint64_t FURTHER = UINT64_C(0x233e7431a129a78d); /* 2^(-32 * LENGTH) modulo MODULUS */
static const float TAIL = 3.442620f, UNIT = 2.3283064365386962890625e-10f, LEAST = 1.17549435e-38f;

/* The strips: the bound of the fast path, the factor there, and the density at the edge. */
typedef struct {
    const uint32_t *bounds;
    const float *widths, *heights;
} Strips;

/* The scale of a standard normal number. */
typedef struct {
    double mean, deviation;
    float full;
} Scale;

/* The next words of the generator, their numbers, and which of them are not in the fast path. */
typedef struct {
    uint64_t state;
    int64_t at;
    uint32_t words[WORDS];
    float numbers[WORDS];
    uint8_t hard[WORDS];
} Words;

static inline float scaled(const Scale *scale, float x) {
    return (float)((double)x * scale->deviation + scale->mean) * scale->full;
}

#if defined(__AVX512F__)
/* Look up a table of STRIPS words in registers. */
static inline __m512i strip_of(const __m512i table[8], __m512i at) {
    __mmask16 odd = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32)), upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(64));
    __m512i found[4];
    for (int i = 0; i < 4; i++)
        found[i] = _mm512_permutex2var_epi32(table[2 * i], at, table[2 * i + 1]);
    found[0] = _mm512_mask_blend_epi32(odd, found[0], found[1]);
    found[2] = _mm512_mask_blend_epi32(odd, found[2], found[3]);
    return _mm512_mask_blend_epi32(upper, found[0], found[2]);
}
#endif

/* Find the strip of each word. */
static void look_up_strips(const Strips *strips, const uint32_t *words, uint32_t *bounds, float *widths) {
#if defined(__AVX512F__)
    __m512i all_bounds[8], all_widths[8];
    for (int i = 0; i < 8; i++) {
        all_bounds[i] = _mm512_loadu_si512(strips->bounds + 16 * i);
        all_widths[i] = _mm512_loadu_si512(strips->widths + 16 * i);
    }
    for (int i = 0; i < WORDS; i += 16) {
        __m512i at = _mm512_loadu_si512(words + i);
        _mm512_storeu_si512(bounds + i, strip_of(all_bounds, at));
        _mm512_storeu_si512(widths + i, strip_of(all_widths, at));
    }
#else
    for (int i = 0; i < WORDS; i++)
        bounds[i] = strips->bounds[words[i] & (STRIPS - 1)], widths[i] = strips->widths[words[i] & (STRIPS - 1)];
#endif
}

static void refill(Words *words, const Strips *strips, const Scale *scale) {
    uint64_t states[STRETCHES];
    uint32_t bounds[WORDS], *result = words->words;
    float widths[WORDS];
    for (int k = 0; k < STRETCHES; k++) {
        states[k] = words->state;
        words->state = (uint64_t)((Wide)words->state * FURTHER % MODULUS);
    }
    for (int i = 0; i < LENGTH; i++)
        for (int k = 0; k < STRETCHES; k++) {
            result[k * LENGTH + i] = (uint32_t)states[k];
            states[k] = (uint64_t)(uint32_t)states[k] * CARRY + (states[k] >> 32);
        }
    look_up_strips(strips, result, bounds, widths);
    for (int i = 0; i < WORDS; i++) {
        uint32_t size = result[i] >> 31 ? 0u - result[i] : result[i];
        words->hard[i] = size >= bounds[i];
    }
    for (int i = 0; i < WORDS; i++)
        words->numbers[i] = scaled(scale, (float)(int32_t)result[i] * widths[i]);
    words->at = 0;
}

static inline int64_t step(Words *words, const Strips *strips, const Scale *scale) {
    if (words->at == WORDS)
        refill(words, strips, scale);
    return words->at++;
}

/* The functions of the C library that OpenCV calls: a compiler may link others, which round differently. */
typedef struct {
    float (*log)(float);
    double (*exp)(double);
} Functions;

/* A number whose first word, at `at`, is not in the fast path. */
static float hard(Words *words, const Strips *strips, const Scale *scale, const Functions *functions, int64_t at) {
    for (;;) {
        int32_t word = (int32_t)words->words[at];
        int strip = word & 127;
        float x = (float)word * strips->widths[strip], y;
        if (strip == 0) {
            do {
                x = (float)words->words[step(words, strips, scale)] * UNIT;
                y = (float)words->words[step(words, strips, scale)] * UNIT;
                x = (float)(-functions->log(x + LEAST) * 0.2904764);
                y = -functions->log(y + LEAST);
            } while (y + y < x * x);
            return scaled(scale, word > 0 ? TAIL + x : -TAIL - x);
        }
        const float *height = strips->heights + strip;
        y = (float)words->words[step(words, strips, scale)] * UNIT;
        if (height[0] + y * (height[-1] - height[0]) < functions->exp(-.5 * x * x))
            return scaled(scale, x);
        at = step(words, strips, scale);
        if (!words->hard[at])
            return words->numbers[at];
    }
}

/* Write `count` normal numbers of a mean and a deviation, times `full`; seed: as for cv2.setRNGSeed; log, exp: logf
   and exp of the C library. */
KERNEL(normal)(int64_t seed, const uint32_t *bounds, const float *widths, const float *heights, float (*log)(float),
               double (*exp)(double), double mean, double deviation, float full, float *out, int64_t count) {
    const Functions functions = {log, exp};
    const Strips strips = {bounds, widths, heights};
    const Scale scale = {mean, deviation, full};
    Words words;
    words.state = seed ? (uint64_t)seed : 0xffffffffu;
    words.at = WORDS;
    for (int64_t i = 0; i < count;) {
        int64_t at = step(&words, &strips, &scale), some = MIN(WORDS - at, count - i);
        const uint8_t *end = memchr(words.hard + at, 1, (size_t)some);
        int64_t easy = end ? end - (words.hard + at) : some;
        memcpy(out + i, words.numbers + at, (size_t)easy * sizeof *out);
        i += easy;
        words.at = at + easy + (end != NULL);
        if (end)
            out[i++] = hard(&words, &strips, &scale, &functions, at + easy);
    }
    return DONE;
}

/* Add truncated numbers to levels, and clip to 0..255. */
KERNEL(add_noise)(const uint8_t *levels, const float *noise, uint8_t *out, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        float number = noise[i] > -256.0f ? noise[i] : -256.0f; /* also for NaN */
        int32_t sum = levels[i] + (int32_t)(number < 256.0f ? number : 256.0f);
        out[i] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
    return DONE;
}
