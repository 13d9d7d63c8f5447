/* Information about the library and the machine: the fingerprint of its sources, and the instruction sets that run
   here. */

#if !defined(_WIN32)
#define _POSIX_C_SOURCE 199309L /* for clock_gettime, which C11 lacks */
#include <time.h>
#endif

#include "layout_table.h"

EXPORT const char *ar_sources(void) { return SOURCES; }

enum { SECOND = 1000000000 }; /* nanoseconds */

#if defined(__x86_64__)
#include <cpuid.h>

enum { SSE3_AND_UP = 1 << 0 | 1 << 9 | 1 << 19 | 1 << 20 | 1 << 23 }; /* leaf 1, ecx: SSE3, SSSE3, SSE4.1, 4.2, POPCNT */
enum { FMA = 1 << 12, MOVBE = 1 << 22, SAVES = 1 << 27, AVX = 1 << 28, F16C = 1 << 29 };       /* leaf 1, ecx */
enum { BMI = 1 << 3 | 1 << 8, AVX2 = 1 << 5 };                                                 /* leaf 7, ebx */
enum { AVX512 = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 }; /* leaf 7, ebx: F, DQ, CD, BW; VL is bit 31 */
enum { LZCNT = 1 << 5 };                                 /* leaf 0x80000001, ecx */
enum { YMM = 6, ZMM = 0xe6 };                            /* register state that the system saves */

/* The processor itself is asked, because `__builtin_cpu_supports` fails where the compiler has no runtime for it. */
static int32_t best(void) {
    uint32_t a, b, c, d, wanted = SSE3_AND_UP | FMA | MOVBE | SAVES | AVX | F16C;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & wanted) != wanted)
        return 0;
    uint32_t kept, high;
    __asm__ volatile("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
    if ((kept & YMM) != YMM || !__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c & LZCNT) ||
        !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & (BMI | AVX2)) != (BMI | AVX2))
        return 0;
    return (kept & ZMM) == ZMM && (b & AVX512) == AVX512 && b >> 31 ? 4 : 3;
}
#endif

#if defined(_WIN32)
__declspec(dllimport) int __stdcall QueryPerformanceCounter(int64_t *);
__declspec(dllimport) int __stdcall QueryPerformanceFrequency(int64_t *);
#endif

/* Nanoseconds of a monotonic clock. */
int64_t ar_nanoseconds(void) {
#if defined(_WIN32)
    int64_t ticks, in_a_second;
    QueryPerformanceCounter(&ticks), QueryPerformanceFrequency(&in_a_second);
    return ticks / in_a_second * SECOND + ticks % in_a_second * SECOND / in_a_second;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
#endif
}

/* Whether it permutes the bytes of whole registers (VBMI), as some processors with AVX-512 do: checked once, when the
   library is loaded, because the check takes longer than it saves on a small image. */
int32_t ar_shuffles_bytes;

#if defined(__x86_64__)
enum { VBMI = 1 << 1 }; /* leaf 7, ecx */

__attribute__((constructor)) static void ask(void) {
    uint32_t a, b, c, d;
    ar_shuffles_bytes = best() == 4 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & VBMI);
}
#endif

/* The best instruction set that the processor and the system support: 0 base, 3 AVX2 with FMA and F16C, 4 AVX-512. */
EXPORT int32_t ar_isa(void) {
#if defined(__x86_64__)
    return best();
#else
    return 0;
#endif
}
