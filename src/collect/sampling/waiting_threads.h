/*
 * waiting_threads: where a thread waits, found from outside without stopping or disturbing it.
 *
 * /proc reports the pc and sp of a thread that is in a system call, and its stack can be read as
 * any memory of a process of the same user. If the thread is still in the same call afterwards,
 * what was read is its stack. Its other registers are not reported.
 */
#ifndef TIDE_COLLECT_SAMPLING_WAITING_THREADS_H
#define TIDE_COLLECT_SAMPLING_WAITING_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine/registers.h"

#define WAITING_THREADS_STACK 16384

struct waiting_thread {
    struct arch_registers registers;      /* pc and sp; the pc is that after the system call */
    uint8_t stack[WAITING_THREADS_STACK]; /* from sp on */
    uint64_t size;                        /* how many bytes of it were read */
};

/* false: the thread runs, or may not be read. */
bool waiting_threads_read(struct waiting_thread *b, pid_t pid, pid_t tid);
/* Reads some bytes of its code. */
bool waiting_threads_read_code(pid_t pid, uint64_t address, uint8_t *out, size_t size);

#endif
