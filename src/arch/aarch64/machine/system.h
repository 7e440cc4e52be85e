/*
 * system: what the recorder asks the processor and the kernel directly. aarch64.
 */
#ifndef TIDE_MACHINE_SYSTEM_H
#define TIDE_MACHINE_SYSTEM_H

/* The most bytes of a thread's stack above its thread pointer: glibc puts the thread's own
 * variables there, and the descriptor below. Their size is not known; programs with more than this
 * are not supported. */
#define ARCH_ABOVE_THREAD_POINTER (1 << 20)

/* Makes a system call without libc. Returns its result or a negative errno. */
static inline long arch_syscall(long number, const long a[6])
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a[0], x1 __asm__("x1") = a[1], x2 __asm__("x2") = a[2],
                     x3 __asm__("x3") = a[3], x4 __asm__("x4") = a[4], x5 __asm__("x5") = a[5];
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}

/* Call it while waiting for another core. */
static inline void arch_pause(void)
{
    __asm__ volatile("yield");
}

/* Prefetches a cache line for writing. Only a hint. */
static inline void arch_prefetch_write(const void *p)
{
    __asm__ volatile("prfm pstl1keep, [%0]" : : "r"(p));
}

#endif
