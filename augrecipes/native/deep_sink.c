/* The sink for every depth: images of uint8, uint16 or float32 with up to 32 channels, to any output type.

   compiler/kernels/sink.py defines it: (value - low) * scale + shift in float32, rounded after each of the three
   operations; integers are then rounded half to even and clipped to 0..top. The kernel `sink` is faster where it
   applies. */

#include "floats.h"
#include "registers.h"
#include "rounding.h"

enum { MOST = 32, SOME = 256, FEW = 32 }; /* MOST: channels; SOME: pixels at a time, FEW where they are rows apart */

/* An image, and an affine map for each channel. */
typedef struct {
    int64_t pixel;
    int32_t channels, type;
    float low, scale[MOST + PART], shift[MOST + PART];
} Deep;

/* A plane of a result; `across`: elements from pixel to pixel. */
typedef struct {
    void *at;
    int64_t across;
    int32_t type;
    float top;
} Plane;

static inline int64_t size_of(int32_t type) { return type == UINT8 ? 1 : type == UINT16 ? 2 : 4; }

static inline float value_at(const uint8_t *at, int32_t type) {
    uint16_t word;
    float value;
    if (type == UINT8)
        return (float)*at;
    memcpy(type == UINT16 ? (void *)&word : (void *)&value, at, type == UINT16 ? sizeof word : sizeof value);
    return type == UINT16 ? (float)word : value;
}

#if defined(X86)
static inline __m128 four_at(const uint8_t *at) { return _mm_loadu_ps((const float *)(const void *)at); }

/* Load four integers of each of two pixels, as 16 bits. */
static inline __m128i two_at(const uint8_t *from, int64_t apart, int32_t type) {
    int32_t a, b;
    if (type == UINT16)
        return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(const void *)from),
                                  _mm_loadl_epi64((const __m128i *)(const void *)(from + apart)));
    memcpy(&a, from, sizeof a), memcpy(&b, from + apart, sizeof b);
    return _mm_cvtepu8_epi16(_mm_unpacklo_epi32(_mm_cvtsi32_si128(a), _mm_cvtsi32_si128(b)));
}

static inline FloatRegister in_each(const float *four) {
#if defined(__AVX512F__)
    return _mm512_broadcast_f32x4(four_at((const uint8_t *)four));
#else
    return _mm256_broadcast_ps((const __m128 *)(const void *)four);
#endif
}

enum { PIXELS = sizeof(FloatRegister) / sizeof(float) }; /* pixels at a time */

/* Load four values of each of PIXELS pixels that are `apart` bytes apart. */
static inline FloatRegister fours_at(const uint8_t *from, int64_t apart, int32_t type) {
#if defined(__AVX512F__)
    if (type == FLOAT32) {
        __m512 floats = _mm512_castps128_ps512(four_at(from));
        floats = _mm512_insertf32x4(_mm512_insertf32x4(floats, four_at(from + apart), 1), four_at(from + 2 * apart), 2);
        return _mm512_insertf32x4(floats, four_at(from + 3 * apart), 3);
    }
    __m128i low = two_at(from, apart, type), high = two_at(from + 2 * apart, apart, type);
    return _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(_mm256_set_m128i(high, low)));
#else
    if (type == FLOAT32)
        return _mm256_insertf128_ps(_mm256_castps128_ps256(four_at(from)), four_at(from + apart), 1);
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(two_at(from, apart, type)));
#endif
}

/* Transpose N channels, from `c` on, of some pixels to planes; four channels are loaded. */
static inline __attribute__((always_inline)) void turn_pixels(const Deep *d, const uint8_t *from, int32_t type, int32_t n,
                                                              int32_t c, float *const *to, int64_t x) {
    const FloatRegister low = X86(set1_ps)(d->low), scale = in_each(d->scale + c), shift = in_each(d->shift + c);
    FloatRegister four[PART], pairs[PART];
#pragma GCC unroll 4
    for (int k = 0; k < PART; k++) {
        four[k] = fours_at(from + k * d->pixel, PART * d->pixel, type);
        four[k] = X86(add_ps)(X86(mul_ps)(X86(sub_ps)(four[k], low), scale), shift);
    }
    pairs[0] = X86(unpacklo_ps)(four[0], four[1]), pairs[1] = X86(unpacklo_ps)(four[2], four[3]);
    pairs[2] = X86(unpackhi_ps)(four[0], four[1]), pairs[3] = X86(unpackhi_ps)(four[2], four[3]);
#pragma GCC unroll 4
    for (int k = 0; k < n; k++)
        X86(storeu_ps)(to[k] + x, k & 1 ? X86(shuffle_ps)(pairs[k & 2], pairs[(k & 2) + 1], 0xEE)
                                        : X86(shuffle_ps)(pairs[k & 2], pairs[(k & 2) + 1], 0x44));
}
#endif

/* Load N channels, from `c` on, of the pixels of one row as planes to[k][x]. `last`: no row follows in memory. */
static inline __attribute__((always_inline)) void take(const Deep *d, const uint8_t *from, int64_t count, int last,
                                                       int32_t type, int32_t n, int32_t c, float *const *to) {
    const int64_t size = size_of(type), pixel = d->pixel;
    int64_t x = 0;
    from += c * size;
    if (n == 1 && pixel == size) /* compilers vectorise this */
        for (; x < count; x++)
            to[0][x] = (value_at(from + x * size, type) - d->low) * d->scale[c] + d->shift[c];
    if (n == 1 && pixel == -size)
        for (; x < count; x++)
            to[0][x] = (value_at(from - x * size, type) - d->low) * d->scale[c] + d->shift[c];
#if defined(X86)
    /* Four values are loaded even where fewer are wanted: not of a pixel that may be the last in memory. */
    int64_t spare = n < PART && last, begin = pixel < 0 ? spare : 0, end = count - (pixel > 0 ? spare : 0);
    if (n > 1 && (pixel >= n * size || -pixel >= n * size)) {
        for (; x < begin && x < count; x++)
            for (int32_t k = 0; k < n; k++)
                to[k][x] = (value_at(from + x * pixel + k * size, type) - d->low) * d->scale[c + k] + d->shift[c + k];
        for (; x + PIXELS <= end; x += PIXELS)
            turn_pixels(d, from + x * pixel, type, n, c, to, x);
    }
#endif
    for (; x < count; x++)
        for (int32_t k = 0; k < n; k++)
            to[k][x] = (value_at(from + x * pixel + k * size, type) - d->low) * d->scale[c + k] + d->shift[c + k];
}

static void take_some(const Deep *d, const uint8_t *from, int64_t count, int last, int32_t n, int32_t c,
                      float *const *to) {
#define TAKE_TYPE(type) CALL_WITH(n, take(d, from, count, last, type, N, c, to))
    if (d->type == UINT8)
        TAKE_TYPE(UINT8)
    else if (d->type == UINT16)
        TAKE_TYPE(UINT16)
    else
        TAKE_TYPE(FLOAT32)
}

/* Convert interleaved values in memory order; `scales` and `shifts` repeat those of the channels. */
static inline __attribute__((always_inline)) void take_turns(const uint8_t *restrict from, int64_t count, int32_t type,
                                                             float low, const float *restrict scales,
                                                             const float *restrict shifts, float *restrict to) {
    for (int64_t i = 0; i < count; i++)
        to[i] = (value_at(from + i * size_of(type), type) - low) * scales[i] + shifts[i];
}

static inline float held_within(float value, float top) {
    value = value > 0 ? value : 0; /* NaN becomes 0 */
    return value < top ? value : top;
}

#if defined(__F16C__)
static void put_halves(const float *restrict values, int64_t count, uint16_t *restrict to, int64_t across) {
    for (int64_t x = 0; x < count; x += 8) {
        uint16_t eight[8];
        float some[8] = {0};
        memcpy(some, values + x, (size_t)(4 * MIN(8, count - x)));
        _mm_storeu_si128((__m128i *)(void *)eight, _mm256_cvtps_ph(_mm256_loadu_ps(some), 0));
        for (int64_t i = 0; i < MIN(8, count - x); i++)
            to[(x + i) * across] = eight[i];
    }
}
#endif

#define PUT_EACH(T, value)                                                                                             \
    if (plane.across == 1)                                                                                             \
        for (int64_t x = 0; x < count; x++)                                                                            \
            ((T *)plane.at)[x] = (T)(value);                                                                           \
    else                                                                                                               \
        for (int64_t x = 0; x < count; x++)                                                                            \
            ((T *)plane.at)[x * plane.across] = (T)(value);

static void put(const float *restrict values, int64_t count, Plane plane) {
    const float top = plane.top;
    if (plane.type == UINT8) {
        PUT_EACH(uint8_t, nearest(held_within(values[x], top)))
    } else if (plane.type == UINT16) {
        PUT_EACH(uint16_t, nearest(held_within(values[x], top)))
    } else if (plane.type == FLOAT32) {
        PUT_EACH(float, values[x])
#if defined(__F16C__)
    } else {
        put_halves(values, count, (uint16_t *)plane.at, plane.across);
#endif
    }
}

/* Write one image, H x W x C with C of 1 to 32, in any memory order.

   image:        its first pixel, of `type` UINT8, UINT16 or FLOAT32; row, pixel: strides in bytes; channels are
                 contiguous
   low:          subtracted from each value first
   scale, shift: one for each channel; a scale of 1 and a shift of -0.0 change nothing
   top:          the greatest integer
   valid:        bytes, H x W with their strides: 0 for a pixel without data, which becomes 0; or NULL
   target:       of type `to`: UINT8, UINT16, FLOAT32, FLOAT32_FAR or FLOAT16
   down, across, apart: its strides from row to row, pixel to pixel and channel to channel, in elements */
KERNEL(deep_sink)(const uint8_t *image, int32_t type, int64_t row, int64_t pixel, int64_t height, int64_t width,
                  int32_t channels, float low, const float *scale, const float *shift, float top, const uint8_t *valid,
                  int64_t valid_row, int64_t valid_pixel, uint8_t *target, int32_t to, int64_t down, int64_t across,
                  int64_t apart) {
    to = to == FLOAT32_FAR ? FLOAT32 : to;
    if (height < 0 || width < 0 || channels < 1 || channels > MOST || to == INT64 ||
        (type != UINT8 && type != UINT16 && type != FLOAT32))
        return REFUSED;
#if !defined(__F16C__)
    if (to == FLOAT16)
        return REFUSED;
#endif
    Deep d = {.pixel = pixel, .channels = channels, .type = type, .low = low};
    memcpy(d.scale, scale, (size_t)channels * sizeof *scale);
    memcpy(d.shift, shift, (size_t)channels * sizeof *shift);
    const int64_t size = to == UINT8 ? 1 : to == FLOAT32 ? 4 : 2, lines = (pixel < 0 ? -pixel : pixel) > SOME;
    const int close = -4 * size_of(type) < row && row < 4 * size_of(type); /* rows may overlap or interleave */
    const int64_t turn = SOME / channels * channels, most = lines ? FEW : SOME;
    float planes[PART][SOME], scales[SOME], shifts[SOME];
    if (!valid && pixel == channels * size_of(type) && across == channels && apart == 1) { /* in memory order */
        for (int64_t i = 0; i < turn; i++)
            scales[i] = scale[i % channels], shifts[i] = shift[i % channels];
        for (int64_t y = 0; y < height; y++)
            for (int64_t i = 0; i < width * channels; i += turn) {
                const int64_t count = MIN(turn, width * channels - i);
                const uint8_t *from = image + y * row + i * size_of(type);
                uint8_t *at = target + (y * down + i) * size;
                float *out = to == FLOAT32 ? (float *)(void *)at : planes[0];
                if (type == UINT8)
                    take_turns(from, count, UINT8, low, scales, shifts, out);
                else if (type == UINT16)
                    take_turns(from, count, UINT16, low, scales, shifts, out);
                else
                    take_turns(from, count, FLOAT32, low, scales, shifts, out);
                if (to != FLOAT32)
                    put(out, count, (Plane){at, 1, to, top});
            }
        return DONE;
    }
    /* Where neighbouring pixels are rows apart, few columns at a time keep their cache lines in use. */
    for (int64_t part = 0; part < width; part += lines ? FEW : width)
        for (int64_t y = 0, bottom = row > 0 ? height - 1 : 0; y < height; y++)
            for (int64_t left = part; left < (lines ? MIN(part + FEW, width) : width); left += most) {
                const int64_t count = MIN(most, width - left);
                for (int32_t c = 0; c < channels; c += PART) {
                    const int32_t n = MIN(PART, channels - c);
                    float *out[PART];
                    for (int32_t k = 0; k < n; k++) {
                        uint8_t *at = target + (y * down + left * across + (c + k) * apart) * size;
                        out[k] = to == FLOAT32 && across == 1 ? (float *)(void *)at : planes[k];
                    }
                    take_some(&d, image + y * row + left * pixel, count, close || y == bottom, n, c, out);
                    for (int64_t x = 0; valid && x < count; x++)
                        if (!valid[y * valid_row + (left + x) * valid_pixel])
                            for (int32_t k = 0; k < n; k++)
                                out[k][x] = 0;
                    for (int32_t k = 0; k < n && (to != FLOAT32 || across != 1); k++)
                        put(planes[k], count,
                            (Plane){target + (y * down + left * across + (c + k) * apart) * size, across, to, top});
                }
            }
    return DONE;
}
