/* What the library says of itself and of the machine: which sources it is made of, which instruction sets run here. */

#include "kernels.h"

EXPORT const char *ar_sources(void) { return SOURCES; }

/* The best instruction set that this processor and its system carry out: 0 base, 3 AVX2 with FMA and F16C, 4 AVX-512. */
EXPORT int32_t ar_isa(void) {
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_cpu_init();
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
          __builtin_cpu_supports("bmi2")))
        return 0;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return 4;
    return 3;
#else
    return 0;
#endif
}
