/* The widest registers of an instruction set of x86, by one name for each of its operations: X86(min_epu8); and what
   compilers know as operators on vectors of any kind. */

#pragma once

#include "kernels.h"

#if defined(__AVX512BW__)
#include <immintrin.h>
#define X86(name) _mm512_##name
typedef __m512i Register;
typedef __m256i HalfRegister;
typedef __m512 FloatRegister;
static inline Register repeat(__m128i part) { return _mm512_broadcast_i32x4(part); }
/* Numbers of 16 bits as bytes, held within them. */
static inline Register pack_in_order(Register low, Register high) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_packus_epi16(low, high));
}
/* By the highest bit of each byte of `mask`. */
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
static inline Register pack_in_order(Register low, Register high) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8);
}
static inline Register select_bytes(Register mask, Register ones, Register others) {
    return _mm256_blendv_epi8(others, ones, mask);
}
#endif

/* A function of two vectors of `type`, by an instruction of x86 or what it computes of a and b; EACH: lane by lane. */
#define EACH(lane) \
    __extension__({ \
        for (unsigned i = 0; i < sizeof a / sizeof a[0]; i++) \
            a[i] = (__typeof__(a[0]))(lane); \
        a; \
    })
#if defined(X86)
#define LANEWISE(type, register, name, instruction, elsewhere) \
    static inline type name(type a, type b) { return (type)X86(instruction)((register)a, (register)b); }
#else
#define LANEWISE(type, register, name, instruction, elsewhere) \
    static inline type name(type a, type b) { return elsewhere; }
#endif
