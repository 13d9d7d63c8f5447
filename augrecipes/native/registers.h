/* The widest x86 registers of an instruction set, with one name for each operation: X86(min_epu8); and operations
   that compilers offer as operators on vectors. */

#pragma once

#include "kernels.h"

#if defined(__AVX512BW__)
#include <immintrin.h>
#define X86(name) _mm512_##name
typedef __m512i Register;
typedef __m256i HalfRegister;
typedef __m512 FloatRegister;
static inline Register repeat(__m128i part) { return _mm512_broadcast_i32x4(part); }
/* Join sixteen bytes each from several places, of which AVX2 takes the first two; and store them. */
#define SIXTEEN_AT(from) _mm_loadu_si128((const __m128i *)(const void *)(from))
static inline Register join_sixteens(const uint8_t *from, int64_t a, int64_t b, int64_t c, int64_t d) {
    Register bytes = _mm512_inserti32x4(_mm512_castsi128_si512(SIXTEEN_AT(from + a)), SIXTEEN_AT(from + b), 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(bytes, SIXTEEN_AT(from + c), 2), SIXTEEN_AT(from + d), 3);
}
static inline void put_sixteens(Register bytes, uint8_t *to, int64_t apart) {
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_castsi512_si128(bytes));
    _mm_storeu_si128((__m128i *)(void *)(to + apart), _mm512_extracti32x4_epi32(bytes, 1));
    _mm_storeu_si128((__m128i *)(void *)(to + 2 * apart), _mm512_extracti32x4_epi32(bytes, 2));
    _mm_storeu_si128((__m128i *)(void *)(to + 3 * apart), _mm512_extracti32x4_epi32(bytes, 3));
}
/* Narrow 16-bit numbers to bytes, with saturation. */
static inline Register pack_in_order(Register low, Register high) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_packus_epi16(low, high));
}
/* Select by the highest bit of each byte of `mask`. */
static inline Register select_bytes(Register mask, Register ones, Register others) {
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(mask), others, ones);
}
#elif defined(__AVX2__)
#include <immintrin.h>
#define X86(name) _mm256_##name
typedef __m256i Register;
typedef __m128i HalfRegister;
typedef __m256 FloatRegister;
static inline Register repeat(__m128i part) { return _mm256_broadcastsi128_si256(part); }
#define SIXTEEN_AT(from) _mm_loadu_si128((const __m128i *)(const void *)(from))
static inline Register join_sixteens(const uint8_t *from, int64_t a, int64_t b, int64_t c, int64_t d) {
    (void)c, (void)d;
    return _mm256_inserti128_si256(_mm256_castsi128_si256(SIXTEEN_AT(from + a)), SIXTEEN_AT(from + b), 1);
}
static inline void put_sixteens(Register bytes, uint8_t *to, int64_t apart) {
    _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(bytes));
    _mm_storeu_si128((__m128i *)(void *)(to + apart), _mm256_extracti128_si256(bytes, 1));
}
static inline Register pack_in_order(Register low, Register high) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8);
}
static inline Register select_bytes(Register mask, Register ones, Register others) {
    return _mm256_blendv_epi8(others, ones, mask);
}
#endif
#if defined(X86)
enum { REGISTER = sizeof(Register) };
#endif

/* A function of two vectors of `type`: an x86 instruction, or an expression in a and b; EACH: lane by lane. */
#define EACH(lane) \
    __extension__({ \
        for (unsigned i = 0; i < sizeof a / sizeof a[0]; i++) \
            a[i] = (__typeof__(a[0]))(lane); \
        a; \
    })
#if defined(X86)
#define ON_X86(here, elsewhere) here
#else
#define ON_X86(here, elsewhere) elsewhere
#endif
#define LANEWISE(type, register, name, instruction, elsewhere) \
    static inline type name(type a, type b) { \
        return ON_X86((type)X86(instruction)((register)a, (register)b), elsewhere); \
    }
