#include "collect/attach/remote_patches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "collect/attach/stopped_program.h"

/* For all threads to be outside the bytes that are replaced. */
#define PATCH_NS       UINT64_C(10000000000)
#define COUNT_NS       UINT64_C(500000000) /* for all attempts together to count the heap */
#define STACK_SEARCHED (UINT64_C(1) << 20) /* how many bytes of each stack are searched */
#define COUNTS         20 /* attempts to count the heap while no thread is changing it */

/* Is the address inside the bytes that are replaced, but not at their first? */
static bool is_inside(const struct wire_attached *t, uint64_t address)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (address - t->patches[i].address - 1 < t->patch_size - 1)
            return true;
    return false;
}

/* Does any word on the thread's stack point inside the bytes that are replaced? Then the thread, or
 * a signal handler of it, may return there. So may a thread whose stack is too new to be known. */
static bool returns_inside(const struct stopped_program *s, const struct stopped_thread *t)
{
    const struct remote_region *r = remote_region_at(&s->modules, t->stack);
    uint64_t start = t->stack & ~UINT64_C(7);
    bool found = false;
    if (!r)
        return true;
    size_t size = (size_t)(r->end - start < STACK_SEARCHED ? r->end - start : STACK_SEARCHED);
    uint64_t *words = xmalloc(size);
    ssize_t n = remote_memory_read(&s->modules.memory, start, words, size);
    for (size_t i = 0; n > 0 && i < (size_t)n / sizeof *words && !found; i++)
        found = is_inside(&s->table, words[i]);
    free(words);
    return found;
}

static bool all_are_elsewhere(const struct stopped_program *s)
{
    for (size_t i = 0; i < s->threads.threads.count; i++) {
        const struct stopped_thread *t = &s->threads.threads.items[i];
        uint64_t pc;
        if (!t->stopped || !stopped_program_read_pc(t->tid, &pc) || is_inside(&s->table, pc) ||
            returns_inside(s, t))
            return false;
    }
    return true;
}

/* Has the process executed another program since its memory was opened? */
static bool memory_is_gone(const struct stopped_program *s)
{
    uint8_t byte;
    return pread(s->memory, &byte, 1, (off_t)s->table_address) != 1;
}

static int library_is_gone(pid_t pid, int code, struct err *err)
{
    if (code == -ESRCH)
        return err_set(err, code, "process %d has ended", (int)pid);
    if (code == -ENOENT)
        return err_set(err, -EAGAIN, "process %d has just executed another program; attach again",
                       (int)pid);
    return err_set(err, code, "the library in process %d cannot be read: %s", (int)pid,
                   strerror(-code));
}

int remote_patches_write(pid_t pid, struct scratch *scratch, const struct remote_way *way,
                         bool count_before, struct injection_result *out, struct err *err)
{
    static struct remote_thread thread;
    struct stopped_program s;
    struct patience patience = {0};
    uint64_t counted_ns = 0;
    unsigned counts = 0;
    pid_t parent = getppid();
    int code = stopped_program_open(&s, pid);
    if (code)
        return library_is_gone(pid, code, err);
    for (;;) {
        uint64_t stopped = monotonic_ns();
        code = stop_threads_patiently(&s.threads, pid, 0, PATCH_NS, err);
        bool elsewhere = !code && all_are_elsewhere(&s);
        if (elsewhere && count_before) {
            uint64_t counting = monotonic_ns();
            heap_before_count(&s.modules, NULL, &out->before);
            counted_ns += monotonic_ns() - counting;
            elsewhere = out->before.state != HEAP_INCONSISTENT || ++counts == COUNTS ||
                        counted_ns > COUNT_NS;
        }
        if (elsewhere && getppid() != parent)
            code = err_set(err, -EPIPE, "tidemark was killed");
        if (!code && elsewhere && memory_is_gone(&s))
            code = library_is_gone(pid, -ENOENT, err);
        else if (!code && elsewhere && !stopped_program_entries_are(&s, false))
            code = err_set(err, -ENOEXEC,
                           "another tool has changed the allocation functions of process %d",
                           (int)pid);
        else if (!code && elsewhere && !stopped_program_write_entries(&s, true)) {
            stopped_program_write_entries(&s, false);
            code = err_set(err, -EFAULT, "the code of process %d cannot be written to", (int)pid);
        } else if (!code && elsewhere) {
            out->functions = s.table.count;
            thread.way = *way;
            if (stopped_program_find_worker(&s, &thread))
                scratch_unmap(scratch, &thread);
        }
        stop_threads_end(&s.threads);
        out->stopped_ns = monotonic_ns() - stopped;
        if (code || elsewhere)
            break;
        if (patience_waited(&patience, monotonic_ns()) > PATCH_NS) {
            code = err_set(err, -EAGAIN,
                           "process %d could not be stopped outside of its allocation functions in "
                           "10 s; try again",
                           (int)pid);
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = STOPPED_PROGRAM_APART_NS}, NULL);
        code = stopped_program_reopen(&s);
        if (code)
            return library_is_gone(pid, code, err);
    }
    stopped_program_release(&s);
    return code;
}
