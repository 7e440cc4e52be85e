/*
 * system: what the recorder asks the processor and the kernel directly. x86-64.
 */
#ifndef TIDE_MACHINE_SYSTEM_H
#define TIDE_MACHINE_SYSTEM_H

/* The most bytes of a thread's stack above its thread pointer: glibc puts the descriptor there, and
 * the thread's own variables below. */
#define ARCH_ABOVE_THREAD_POINTER 4096

/* Makes a system call without libc. Returns its result or a negative errno. */
static inline long arch_syscall(long number, const long a[6])
{
    register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Call it while waiting for another core. */
static inline void arch_pause(void)
{
    __builtin_ia32_pause();
}

/* Prefetches a cache line for writing. Only a hint, which some processors ignore. */
static inline void arch_prefetch_write(const void *p)
{
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
}

#endif
