/*
 * system_calls: system calls that leave errno alone, memory from the kernel, and clocks.
 *
 * In a program with a seccomp filter, only calls that its allocator makes anyway reach the kernel;
 * the others return -EPERM at once.
 */
#ifndef TIDE_RECORD_SYSTEM_CALLS_H
#define TIDE_RECORD_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

long sys_call(long number, ...); /* the result or a negative errno */
void sys_yield(void);
void sys_nap(void); /* about a millisecond */
uint64_t sys_nanoseconds(const struct timespec *t);
/* The collector's monotonic clock. No system call: the C library reads the clock's page. */
uint64_t sys_monotonic_ns(void);
/* This process's monotonic clock. */
uint64_t sys_own_clock_ns(void);
/* Makes sys_monotonic_ns agree with the collector, whose clock was `collectors_ns` at some time
 * since `asked_ns` of our own. */
void sys_match_clock(uint64_t asked_ns, uint64_t collectors_ns);
/* If the program's address space is limited: may we take `size` bytes of it? We take at most a
 * quarter of what is left, so that the program can continue. */
bool sys_leaves_room(size_t size);
void *sys_map(size_t size); /* private, zeroed, no huge pages; NULL: none */
/* Memory that is shared with the collector; NULL: none. */
void *sys_map_shared(int fd, size_t size, uint64_t offset);
/* Of the large mappings that these two made: the end of the one that contains the address (0: none
 * does), and the start of the next one behind it. */
uintptr_t sys_mapped_to(uintptr_t address);
uintptr_t sys_mapped_from(uintptr_t address);

#endif
