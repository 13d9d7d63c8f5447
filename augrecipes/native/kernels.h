/* Shared by all kernels: names, integer types, and how arrays are passed.

   Every file of this folder is compiled once for each instruction set, with ISA set to its name, and each kernel is
   exported as ar_<kernel>_<isa>. Rules for all of them:

   - Plain C11 that compilers vectorise. No fused multiply-add, no reordering of floating point (build.py turns both
     off), so that every instruction set gives the same bits.
   - No memory is allocated, no global is written, nothing is printed: kernels run in threads and after a fork.
   - Arrays are pointers to their first element with strides in elements, which may be negative. Nothing is read or
     written outside of them.
   - A kernel returns 0, or a negative number if it does not support its arguments: then nothing has been written, and
     Python does the work. */

#pragma once

#include "export.h"

#define JOIN_(a, b) ar_##a##_##b
#define JOIN(a, b) JOIN_(a, b)

/* KERNEL(sink) declares and names ar_sink_v3, ar_sink_v4, ... */
#define KERNEL(name) EXPORT int32_t JOIN(name, ISA)

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* A call in which N is n, of 1 to 4, as a compile-time constant. */
#define CALL_WITH(n, call)                                                                                             \
    switch (n) {                                                                                                       \
    case 1: { enum { N = 1 }; call; break; }                                                                           \
    case 2: { enum { N = 2 }; call; break; }                                                                           \
    case 3: { enum { N = 3 }; call; break; }                                                                           \
    case 4: { enum { N = 4 }; call; break; }                                                                           \
    default: break;                                                                                                    \
    }

/* Prefetch a cache line into the caches from `level` on (3: the first). The address must be inside an array: tests
   build the kernels so that they read it. */
#if defined(PREFETCH_BY_READING)
#define PREFETCH(at, level) ((void)*(const volatile uint8_t *)(at))
#else
#define PREFETCH(at, level) __builtin_prefetch(at, 0, level)
#endif

/* Whether this instruction set has fused multiply-add: kernels whose bits need it (OpenCV's) refuse without it. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
enum { FUSES = 1 };
#else
enum { FUSES = 0 };
#endif

enum { LEVELS = 256 }; /* of uint8 */

/* Numbers of dtypes, as in kernels.py. FLOAT32_FAR is FLOAT32 in a result that is not read soon, and may bypass the
   cache. */
enum { UINT8 = 0, FLOAT32 = 1, FLOAT16 = 2, INT64 = 3, FLOAT32_FAR = 4, UINT16 = 5 };

/* What kernels return: done, or arguments not supported. */
enum { DONE = 0, REFUSED = -1 };

/* Return from the function with the value of `what`, unless it is DONE. */
#define TRY(what)                                                                                                     \
    for (int64_t said = (what); said != DONE;)                                                                        \
    return said
