#include "collect/attach/remote_patches.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "collect/attach/safe_point.h"
#include "collect/proc/stop_threads.h"
#include "machine/remote.h"
#include "machine/stopped.h"
#include "wire/attach_code.h"

#define MEMORY_FILE  "/memfd:" WIRE_ATTACH_NAME
#define SCRATCH_CODE 4096
#define LIBC_MOST    (64 << 20)
#define SCRATCH_DATA (256 << 10)
/* For all threads to be outside the bytes that are replaced. */
#define PATCH_NS UINT64_C(10000000000)
#define IDLE_NS  UINT64_C(3000000000) /* for all threads to leave the hooks */
/* Of RESTORE_NS, what one process spends on threads that do not stop; another one tries again. */
#define STOP_NS        UINT64_C(3000000000)
#define RESTORE_NS     UINT64_C(30000000000) /* for all threads to be stopped at once */
#define COUNT_NS       UINT64_C(500000000)   /* for all attempts together to count the heap */
#define APART_NS       1000000
#define STACK_SEARCHED (UINT64_C(1) << 20) /* how many bytes of each stack are searched */
#define CALL_NS        UINT64_C(5000000000)
#define COUNTS         20 /* attempts to count the heap while no thread is changing it */

/* --- scratch memory --------------------------------------------------------------------------- */

int memory_open_for_writing(pid_t pid)
{
    char *path = xasprintf("/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    free(path);
    return fd < 0 ? -errno : fd;
}

/* The address that signal handlers return to; 0: not found. */
static uint64_t signal_return_in(struct remote_modules *m, const struct remote_module *libc)
{
    size_t size = (size_t)(libc->code_end - libc->code_start);
    if (libc->code_end <= libc->code_start || size > LIBC_MOST)
        return 0;
    char *code = xmalloc(size);
    ssize_t n = remote_memory_read(&m->memory, libc->code_start, code, size);
    const char *at =
        n > 0 ? memmem(code, (size_t)n, REMOTE_SIGNAL_RETURN, REMOTE_SIGNAL_RETURN_BYTES) : NULL;
    uint64_t address = at ? libc->code_start + (uint64_t)(at - code) : 0;
    free(code);
    return address;
}

bool remote_way_find(struct remote_modules *m, struct remote_module *libc, int memory,
                     struct remote_way *out)
{
    struct remote_function f;
    uint8_t code[128];
    *out = (struct remote_way){.memory = memory};
    if (!remote_function(m, libc, "syscall", &f) ||
        remote_memory_read(&m->memory, f.address, code, sizeof code) != (ssize_t)sizeof code)
        return false;
    long at = remote_find_system_call(code, sizeof code);
    if (at < 0)
        return false;
    out->system_call = f.address + (uint64_t)at;
    out->signal_return = signal_return_in(m, libc);
    return true;
}

int scratch_map(struct scratch *s, struct remote_thread *t, struct err *err)
{
    uint64_t size = SCRATCH_CODE + SCRATCH_DATA;
    long p = remote_syscall(
        t, SYS_mmap,
        (uint64_t[6]){0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0});
    long q = p < 0
                 ? p
                 : remote_syscall(t, SYS_mprotect,
                                  (uint64_t[6]){(uint64_t)p, SCRATCH_CODE, PROT_READ | PROT_EXEC});
    if (q < 0)
        return err_set(err, (int)q, "the program could not get memory for code: %s",
                       strerror((int)-q));
    *s = (struct scratch){.start = (uint64_t)p, .size = size};
    s->code = s->start;
    s->back = s->start + SCRATCH_CODE - RETURN_CODE_MOST;
    s->data = s->start + SCRATCH_CODE;
    s->work = s->data + 1024;
    s->stack_end = s->start + size - 256;
    ssize_t back_size = return_code_end - return_code;
    if (back_size > RETURN_CODE_MOST ||
        pwrite(t->way.memory, return_code, (size_t)back_size, (off_t)s->back) != back_size)
        return err_set(err, -EFAULT, "the memory of the program cannot be written to");
    return 0;
}

void scratch_unmap(struct scratch *s, struct remote_thread *t)
{
    if (s->start && remote_syscall(t, SYS_munmap, (uint64_t[6]){s->start, s->size}) == 0)
        s->start = 0;
}

/* --- finding the library ---------------------------------------------------------------------- */

/* The library that `attach` loaded before; NULL: none. */
static struct remote_module *find_attached(struct remote_modules *m)
{
    for (size_t i = 0; i < m->items.count; i++)
        if (strncmp(m->items.items[i].path, MEMORY_FILE, sizeof MEMORY_FILE - 1) == 0 &&
            m->items.items[i].code_start)
            return &m->items.items[i];
    return NULL;
}

static bool read_table(struct remote_modules *m, struct remote_module *library, uint64_t *address,
                       struct wire_attached *out)
{
    struct remote_function f;
    if (!library || !remote_function(m, library, WIRE_ATTACH_OBJECT, &f) ||
        remote_memory_read(&m->memory, f.address, out, sizeof *out) != (ssize_t)sizeof *out ||
        out->magic != WIRE_ATTACH_MAGIC || out->version != WIRE_VERSION ||
        out->count > WIRE_ATTACH_PATCHES || !out->patch_size || out->patch_size > WIRE_PATCH_BYTES)
        return false;
    *address = f.address;
    return true;
}

bool inject_read(pid_t pid, struct wire_attached *out)
{
    struct remote_modules m;
    uint64_t address;
    if (remote_modules_open(&m, pid))
        return false;
    bool found = read_table(&m, find_attached(&m), &address, out);
    remote_modules_release(&m);
    return found;
}

int remote_patches_find(struct remote_modules *m, uint64_t *function, struct wire_attached *there,
                        struct err *err)
{
    struct remote_module *attached = find_attached(m);
    struct remote_function f;
    uint64_t address;
    *function = 0;
    *there = (struct wire_attached){0};
    for (size_t i = 0; i < m->items.count; i++)
        if (&m->items.items[i] != attached && strstr(m->items.items[i].path, "/" WIRE_ATTACH_NAME))
            return err_set(err, -EBUSY,
                           "process %d was started by 'tidemark run' and has the recorder already; "
                           "'tidemark ctl %d status' says whether it is recorded",
                           (int)m->pid, (int)m->pid);
    if (!attached)
        return 0;
    if (!read_table(m, attached, &address, there) ||
        !remote_function(m, attached, WIRE_ATTACH_FUNCTION, &f))
        return err_set(err, -EBUSY,
                       "another version of tidemark was attached to process %d before; restart the "
                       "program, or use that version",
                       (int)m->pid);
    *function = f.address;
    return 0;
}

/* --- while all threads are stopped ------------------------------------------------------------ */

struct stopped_program {
    struct remote_modules modules;
    struct remote_module *library;
    struct stopped_threads threads;
    struct wire_attached table;
    uint64_t table_address;
    int memory;
};

static void stopped_program_release(struct stopped_program *s)
{
    remote_modules_release(&s->modules);
    if (s->memory >= 0)
        close(s->memory);
}

static int stopped_program_open(struct stopped_program *s, pid_t pid)
{
    *s = (struct stopped_program){.memory = -1};
    int code = remote_modules_open(&s->modules, pid);
    if (code)
        return code;
    s->library = find_attached(&s->modules);
    s->memory = memory_open_for_writing(pid);
    if (s->memory < 0 || !read_table(&s->modules, s->library, &s->table_address, &s->table)) {
        code = s->memory < 0 ? s->memory : -ENOENT;
        stopped_program_release(s);
    }
    return code;
}

/* For another try: there may be new stacks by now. */
static int stopped_program_reopen(struct stopped_program *s)
{
    pid_t pid = s->modules.pid;
    stopped_program_release(s);
    return stopped_program_open(s, pid);
}

static bool read_pc(pid_t tid, uint64_t *pc)
{
    struct user_regs_struct r;
    struct iovec area = {&r, sizeof r};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &area) != 0)
        return false;
    *pc = remote_pc(&r);
    return true;
}

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
        if (!t->stopped || !read_pc(t->tid, &pc) || is_inside(&s->table, pc) ||
            returns_inside(s, t))
            return false;
    }
    return true;
}

static bool write_flag(const struct stopped_program *s, uint32_t patched)
{
    uint64_t at = s->table_address + offsetof(struct wire_attached, patched);
    return pwrite(s->memory, &patched, sizeof patched, (off_t)at) == (ssize_t)sizeof patched;
}

/* Writes the flag before the patches and clears it after them: if this process is killed in
 * between, the next one sees from the flag that there may be patches. */
static bool write_entries(const struct stopped_program *s, bool patched)
{
    const struct wire_attached *t = &s->table;
    if (patched && !write_flag(s, 1))
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct wire_patch *p = &t->patches[i];
        if (pwrite(s->memory, patched ? p->patch : p->before, t->patch_size, (off_t)p->address) !=
            (ssize_t)t->patch_size)
            return false;
    }
    return patched || write_flag(s, 0);
}

/* Do the entries hold the bytes that the table lists? `patched`: they may hold the patches, or the
 * bytes from before, if a process was killed while it wrote the patches. */
static bool entries_are(const struct stopped_program *s, bool patched)
{
    for (uint32_t i = 0; i < s->table.count; i++) {
        const struct wire_patch *p = &s->table.patches[i];
        uint8_t bytes[WIRE_PATCH_BYTES];
        if (remote_memory_read(&s->modules.memory, p->address, bytes, s->table.patch_size) !=
            (ssize_t)s->table.patch_size)
            return false;
        if (memcmp(bytes, p->before, s->table.patch_size) != 0 &&
            (!patched || memcmp(bytes, p->patch, s->table.patch_size) != 0))
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

/* Finds a stopped thread that can make calls for us; false: there is none. A thread with a pending
 * signal would lose that signal. */
static bool find_worker(const struct stopped_program *s, struct remote_thread *out)
{
    for (size_t i = 0; i < s->threads.threads.count; i++) {
        const struct stopped_thread *t = &s->threads.threads.items[i];
        out->tid = t->tid;
        if (t->stopped && !t->signal && remote_save(out) == 0 &&
            safe_stack_is(&s->modules, out, t->tid == s->threads.pid))
            return true;
    }
    return false;
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
        else if (!code && elsewhere && !entries_are(&s, false))
            code = err_set(err, -ENOEXEC,
                           "another tool has changed the allocation functions of process %d",
                           (int)pid);
        else if (!code && elsewhere && !write_entries(&s, true)) {
            write_entries(&s, false);
            code = err_set(err, -EFAULT, "the code of process %d cannot be written to", (int)pid);
        } else if (!code && elsewhere) {
            out->functions = s.table.count;
            thread.way = *way;
            if (find_worker(&s, &thread))
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
        nanosleep(&(struct timespec){.tv_nsec = APART_NS}, NULL);
        code = stopped_program_reopen(&s);
        if (code)
            return library_is_gone(pid, code, err);
    }
    stopped_program_release(&s);
    return code;
}

/* --- restoring -------------------------------------------------------------------------------- */

/* Are all threads stopped? A thread that sleeps in the kernel and cannot be stopped may be waiting
 * for a child that shares its memory (vfork). */
static bool all_are_stopped(const struct stopped_program *s)
{
    for (size_t i = 0; i < s->threads.threads.count; i++)
        if (!s->threads.threads.items[i].stopped)
            return false;
    return true;
}

/* Is no thread in a hook, or about to enter or leave one? */
static bool all_are_idle(const struct stopped_program *s)
{
    for (size_t i = 0; i < s->threads.threads.count; i++) {
        const struct stopped_thread *t = &s->threads.threads.items[i];
        uint64_t pc, busy = 0;
        if (!t->stopped || !t->pointer || !read_pc(t->tid, &pc) ||
            (pc >= s->library->start && pc < s->library->end) ||
            remote_memory_read(&s->modules.memory, t->pointer + (uint64_t)s->table.busy_offset,
                               &busy, sizeof busy) != (ssize_t)sizeof busy ||
            busy)
            return false;
    }
    return true;
}

/* Clears the state that the library keeps for each thread. */
static bool forget_threads(const struct stopped_program *s)
{
    uint64_t none = 0;
    for (size_t i = 0; i < s->threads.threads.count; i++) {
        uint64_t at = s->threads.threads.items[i].pointer + (uint64_t)s->table.thread_offset;
        if (pwrite(s->memory, &none, sizeof none, (off_t)at) != (ssize_t)sizeof none)
            return false;
    }
    return true;
}

/* Makes the library free the memory of the session. It makes system calls and nothing else. */
static int give_back_memory(struct stopped_program *s, struct remote_thread *thread,
                            struct err *err)
{
    struct remote_function f;
    struct scratch scratch = {0};
    struct remote_module *libc = remote_module_named(&s->modules, "libc");
    uint64_t result;
    if (!libc || !remote_way_find(&s->modules, libc, s->memory, &thread->way) ||
        !remote_function(&s->modules, s->library, WIRE_DETACH_FUNCTION, &f))
        return err_set(err, -ENOENT, "the library in the program cannot be called");
    int code = scratch_map(&scratch, thread, err);
    if (code)
        return code;
    struct remote_place where = {scratch.stack_end, scratch.back};
    if (forget_threads(s))
        code = remote_function_call(thread, &where, f.address, (uint64_t[4]){0}, CALL_NS, &result);
    scratch_unmap(&scratch, thread);
    return code ? err_set(err, code, "the library in the program could not free its memory") : 0;
}

static int cannot_read(pid_t pid, int code, struct err *err)
{
    return err_set(err, code, "process %d cannot be read: %s", (int)pid, strerror(-code));
}

int inject_restore(pid_t pid, bool *found, struct err *err)
{
    static struct remote_thread thread; /* large */
    struct stopped_program s;
    struct patience patience = {0};
    int code = stopped_program_open(&s, pid);
    *found = false;
    if (code == -ENOENT)
        return 0;
    if (code)
        return cannot_read(pid, code, err);
    *found = s.table.patched || s.table.live;
    bool done = !*found, restored = !s.table.patched;
    while (!done && !code) {
        code = stop_threads_patiently(&s.threads, pid, 0, STOP_NS, err);
        bool stopped = !code && all_are_stopped(&s);
        if (stopped && !restored) {
            restored = entries_are(&s, true) && write_entries(&s, false);
            if (!restored)
                code = err_set(err, -ENOEXEC,
                               "another tool has changed the allocation functions of process %d; "
                               "they were left as they are",
                               (int)pid);
        }
        if (!code && restored &&
            (!s.table.live || (all_are_idle(&s) && find_worker(&s, &thread)))) {
            code = s.table.live ? give_back_memory(&s, &thread, err) : 0;
            done = true;
        }
        stop_threads_end(&s.threads);
        uint64_t waited_ns = patience_waited(&patience, monotonic_ns());
        if (done || code || (restored && waited_ns > IDLE_NS))
            break; /* a thread waits in a hook: the memory stays until the next attach */
        if (!restored && waited_ns > RESTORE_NS)
            code =
                err_set(err, -EBUSY,
                        "the threads of process %d could not be stopped in 30 s, so it keeps the "
                        "changed code; 'tidemark detach %d' tries again",
                        (int)pid, (int)pid);
        nanosleep(&(struct timespec){.tv_nsec = APART_NS}, NULL);
        int again = code ? 0 : stopped_program_reopen(&s);
        if (again == -ENOENT || again == -ESRCH)
            return 0; /* it has ended, or executed another program: the code is gone */
        if (again)
            return cannot_read(pid, again, err);
        if (code)
            break;
    }
    stopped_program_release(&s);
    return code;
}
