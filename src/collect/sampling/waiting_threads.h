/*
 * waiting_threads: finds from outside where a thread waits, without stopping or disturbing it.
 *
 * /proc reports the pc and sp of a thread that is in a system call, and its stack can be read as
 * any memory of a process of the same user. If the thread is still in the same system call
 * afterwards, the bytes that were read are its stack. Its other registers are not reported.
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
    uint64_t size;                        /* number of bytes of `stack` that were read */
};

/* Reads where a thread waits; false: the thread runs, or may not be read. */
bool waiting_threads_read(struct waiting_thread *b, pid_t pid, pid_t tid);
/* Reads bytes of the process's code. */
bool waiting_threads_read_code(pid_t pid, uint64_t address, uint8_t *out, size_t size);

#endif
