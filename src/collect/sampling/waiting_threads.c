#include "collect/sampling/waiting_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/proc/proc.h"
#include "collect/proc/remote_memory.h"

/* "0 0x3 0x7f.. ... SP PC", or "-1 SP PC" outside of system calls, or "running". */
static bool read_call(pid_t pid, pid_t tid, char *text, size_t size)
{
    char name[32];
    snprintf(name, sizeof name, "task/%d/syscall", tid);
    return proc_read_text(pid, name, text, size) && !text_begins(text, "running");
}

static bool parse_call(const char *text, uint64_t *sp, uint64_t *pc)
{
    size_t words = 0;
    char *end;
    for (;; text = end, words++) {
        uint64_t word = strtoull(text, &end, words ? 16 : 10);
        if (end == text)
            break;
        *sp = *pc;
        *pc = word;
    }
    return (words == 9 || words == 3) && *sp && *pc;
}

/* The stack may end before the copy does. */
static uint64_t read_stack(pid_t pid, uint64_t sp, uint8_t *out)
{
    struct remote_memory m;
    remote_memory_open(&m, pid);
    ssize_t n = remote_memory_read(&m, sp, out, WAITING_THREADS_STACK);
    remote_memory_close(&m);
    return n > 0 ? (uint64_t)n : 0;
}

bool waiting_threads_read(struct waiting_thread *b, pid_t pid, pid_t tid)
{
    char before[256], after[256];
    uint64_t sp = 0, pc = 0;
    if (!read_call(pid, tid, before, sizeof before) || !parse_call(before, &sp, &pc))
        return false;
    b->size = read_stack(pid, sp, b->stack);
    if (!b->size || !read_call(pid, tid, after, sizeof after) || strcmp(before, after) != 0)
        return false;
    b->registers = (struct arch_registers){.known = ARCH_BIT(ARCH_REG_PC) | ARCH_BIT(ARCH_REG_SP)};
    b->registers.value[ARCH_REG_PC] = pc;
    b->registers.value[ARCH_REG_SP] = sp;
    return true;
}

bool waiting_threads_read_code(pid_t pid, uint64_t address, uint8_t *out, size_t size)
{
    return remote_memory_copy(pid, address, out, size);
}
