#include "collect/attach/library_in.h"

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
#include "collect/leakscan/stop_threads.h"
#include "machine/remote.h"
#include "machine/stopped.h"
#include "wire/attach_code.h"

#define MEMORY_FILE  "/memfd:" WIRE_ATTACH_NAME
#define SCRATCH_CODE 4096
#define LIBC_MOST    (64 << 20)
#define SCRATCH_DATA (256 << 10)
#define PATCH_NS     UINT64_C(10000000000) /* for all threads to be elsewhere */
#define IDLE_NS      UINT64_C(3000000000)  /* for all of them to leave the hooks */
#define STAND_NS     UINT64_C(3000000000)  /* of that, in this process: another one tries again */
#define RESTORE_NS   UINT64_C(30000000000) /* for all of them to stand still at once */
#define COUNT_NS     UINT64_C(500000000)   /* that all tries to count the heap may take */
#define APART_NS     1000000
#define STACK_LOOK   (UINT64_C(1) << 20) /* bytes of each stack that are searched */
#define CALL_NS      UINT64_C(5000000000)
#define COUNTS       20 /* tries to count the heap while no thread is at work on it */

/* --- memory for a while ----------------------------------------------------------------------- */

int memory_open_for_writing(pid_t pid)
{
    char *path = xasprintf("/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    free(path);
    return fd < 0 ? -errno : fd;
}

/* Where a signal's handler returns to; 0: not found. */
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

/* --- finding it ------------------------------------------------------------------------------- */

/* The library that `attach` brought; NULL: none. */
static struct remote_module *find_brought(struct remote_modules *m)
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
    bool found = read_table(&m, find_brought(&m), &address, out);
    remote_modules_release(&m);
    return found;
}

int library_in_process(struct remote_modules *m, uint64_t *function, struct wire_attached *there,
                       struct err *err)
{
    struct remote_module *brought = find_brought(m);
    struct remote_function f;
    uint64_t address;
    *function = 0;
    *there = (struct wire_attached){0};
    for (size_t i = 0; i < m->items.count; i++)
        if (&m->items.items[i] != brought && strstr(m->items.items[i].path, "/" WIRE_ATTACH_NAME))
            return err_set(err, -EBUSY,
                           "process %d was started by 'tidemark run' and has the recorder already; "
                           "'tidemark ctl %d status' tells whether it is recorded",
                           (int)m->pid, (int)m->pid);
    if (!brought)
        return 0;
    if (!read_table(m, brought, &address, there) ||
        !remote_function(m, brought, WIRE_ATTACH_FUNCTION, &f))
        return err_set(err, -EBUSY,
                       "another version of tidemark was attached to process %d before; restart the "
                       "program, or use that version",
                       (int)m->pid);
    *function = f.address;
    return 0;
}

/* --- all threads stand still ------------------------------------------------------------------ */

struct standing {
    struct remote_modules modules;
    struct remote_module *library;
    struct stopped_threads threads;
    struct wire_attached table;
    uint64_t table_address;
    int memory;
};

static void standing_release(struct standing *s)
{
    remote_modules_release(&s->modules);
    if (s->memory >= 0)
        close(s->memory);
}

static int standing_open(struct standing *s, pid_t pid)
{
    *s = (struct standing){.memory = -1};
    int code = remote_modules_open(&s->modules, pid);
    if (code)
        return code;
    s->library = find_brought(&s->modules);
    s->memory = memory_open_for_writing(pid);
    if (s->memory < 0 || !read_table(&s->modules, s->library, &s->table_address, &s->table)) {
        code = s->memory < 0 ? s->memory : -ENOENT;
        standing_release(s);
    }
    return code;
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

/* Behind the first of the bytes that are replaced. */
static bool is_inside(const struct wire_attached *t, uint64_t address)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (address - t->patches[i].address - 1 < t->patch_size - 1)
            return true;
    return false;
}

/* Will it go on in the middle of the bytes that are replaced, now or when a handler returns? */
static bool returns_inside(const struct standing *s, const struct stopped_thread *t)
{
    const struct remote_region *r = remote_region_at(&s->modules, t->stack);
    uint64_t start = t->stack & ~UINT64_C(7);
    bool found = false;
    if (!r)
        return false;
    size_t size = (size_t)(r->end - start < STACK_LOOK ? r->end - start : STACK_LOOK);
    uint64_t *words = xmalloc(size);
    ssize_t n = remote_memory_read(&s->modules.memory, start, words, size);
    for (size_t i = 0; n > 0 && i < (size_t)n / sizeof *words && !found; i++)
        found = is_inside(&s->table, words[i]);
    free(words);
    return found;
}

static bool all_are_elsewhere(const struct standing *s)
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

static bool write_flag(const struct standing *s, uint32_t patched)
{
    uint64_t at = s->table_address + offsetof(struct wire_attached, patched);
    return pwrite(s->memory, &patched, sizeof patched, (off_t)at) == (ssize_t)sizeof patched;
}

/* The flag says that there may be patches: whoever comes after us, should we be killed here, finds
 * them by it. */
static bool write_entries(const struct standing *s, bool patched)
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

/* Does the memory hold what it is said to? `patched`: the patches, or where somebody was killed in
 * the middle of writing them, what was there before. */
static bool entries_are(const struct standing *s, bool patched)
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

/* One that is on its way to the handler of a signal would lose that signal by a call. */
static bool may_call(const struct stopped_thread *t)
{
    return t->stopped && !t->signal;
}

static bool any_may_call(const struct standing *s)
{
    for (size_t i = 0; i < s->threads.threads.count; i++)
        if (may_call(&s->threads.threads.items[i]))
            return true;
    return false;
}

/* A thread that stands still, to make calls with; false: there is none. */
static bool worker(const struct standing *s, const struct remote_way *way,
                   struct remote_thread *out)
{
    for (size_t i = 0; i < s->threads.threads.count; i++) {
        out->tid = s->threads.threads.items[i].tid;
        out->way = *way;
        if (may_call(&s->threads.threads.items[i]) && remote_save(out) == 0)
            return true;
    }
    return false;
}

int library_patch(pid_t pid, struct scratch *scratch, const struct remote_way *way,
                  bool count_before, struct injection_result *out, struct err *err)
{
    static struct remote_thread thread;
    struct standing s;
    uint64_t begin = monotonic_ns();
    uint64_t counted_ns = 0;
    unsigned counts = 0;
    pid_t parent = getppid();
    int code = standing_open(&s, pid);
    if (code)
        return err_set(err, code, "the library in process %d cannot be read", (int)pid);
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
        if (!code && elsewhere && !entries_are(&s, false))
            code = err_set(err, -ENOEXEC,
                           "somebody else has changed the allocation functions of process %d",
                           (int)pid);
        else if (!code && elsewhere && !write_entries(&s, true)) {
            write_entries(&s, false);
            code = err_set(err, -EFAULT, "the code of process %d cannot be written to", (int)pid);
        } else if (!code && elsewhere) {
            out->functions = s.table.count;
            if (worker(&s, way, &thread))
                scratch_unmap(scratch, &thread);
        }
        stop_threads_end(&s.threads);
        out->stopped_ns = monotonic_ns() - stopped;
        if (code || elsewhere)
            break;
        if (monotonic_ns() - begin > PATCH_NS) {
            code = err_set(err, -EAGAIN,
                           "process %d could not be stopped outside of its allocation functions in "
                           "10 s; try again",
                           (int)pid);
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = APART_NS}, NULL);
    }
    standing_release(&s);
    return code;
}

/* --- back ------------------------------------------------------------------------------------- */

/* One that sleeps in the kernel may be waiting for a child that shares its memory (vfork). */
static bool all_stand(const struct standing *s)
{
    for (size_t i = 0; i < s->threads.threads.count; i++)
        if (!s->threads.threads.items[i].stopped)
            return false;
    return true;
}

/* Is no thread in a hook, or on its way into or out of one? */
static bool all_are_idle(const struct standing *s)
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

/* Each thread's state in the library goes. */
static bool forget_threads(const struct standing *s)
{
    uint64_t none = 0;
    for (size_t i = 0; i < s->threads.threads.count; i++) {
        uint64_t at = s->threads.threads.items[i].pointer + (uint64_t)s->table.thread_offset;
        if (pwrite(s->memory, &none, sizeof none, (off_t)at) != (ssize_t)sizeof none)
            return false;
    }
    return true;
}

/* The library gives back the memory of the session; it makes system calls and nothing else. */
static int give_back_memory(struct standing *s, struct err *err)
{
    static struct remote_thread thread;
    struct remote_function f;
    struct scratch scratch = {0};
    struct remote_module *libc = remote_module_named(&s->modules, "libc");
    struct remote_way way;
    uint64_t result;
    if (!libc || !remote_way_find(&s->modules, libc, s->memory, &way) ||
        !remote_function(&s->modules, s->library, WIRE_DETACH_FUNCTION, &f) ||
        !worker(s, &way, &thread))
        return err_set(err, -ENOENT, "the library in the program cannot be called");
    int code = scratch_map(&scratch, &thread, err);
    if (code)
        return code;
    struct remote_place where = {scratch.stack_end, scratch.back};
    if (forget_threads(s))
        code = remote_function_call(&thread, &where, f.address, (uint64_t[4]){0}, CALL_NS, &result);
    scratch_unmap(&scratch, &thread);
    return code ? err_set(err, code, "the library in the program could not give back its memory")
                : 0;
}

int inject_restore(pid_t pid, bool *found, struct err *err)
{
    struct standing s;
    uint64_t begin = monotonic_ns();
    int code = standing_open(&s, pid);
    *found = false;
    if (code == -ENOENT)
        return 0;
    if (code)
        return err_set(err, code, "process %d cannot be read: %s", (int)pid, strerror(-code));
    *found = s.table.patched || s.table.live;
    bool done = !*found, restored = !s.table.patched;
    while (!done && !code) {
        code = stop_threads_patiently(&s.threads, pid, 0, STAND_NS, err);
        bool stopped = !code && all_stand(&s);
        if (stopped && !restored) {
            restored = entries_are(&s, true) && write_entries(&s, false);
            if (!restored)
                code = err_set(err, -ENOEXEC,
                               "somebody else has changed the allocation functions of process %d; "
                               "they were left as they are",
                               (int)pid);
        }
        if (!code && restored && (!s.table.live || (all_are_idle(&s) && any_may_call(&s)))) {
            code = s.table.live ? give_back_memory(&s, err) : 0;
            done = true;
        }
        stop_threads_end(&s.threads);
        uint64_t waited_ns = monotonic_ns() - begin;
        if (done || code || (restored && waited_ns > IDLE_NS))
            break; /* if a thread waits in a hook, its memory stays until the next attach */
        if (!restored && waited_ns > RESTORE_NS)
            code =
                err_set(err, -EBUSY,
                        "the threads of process %d could not be stopped in 30 s, so it keeps the "
                        "changed code; 'tidemark detach %d' tries again",
                        (int)pid, (int)pid);
        nanosleep(&(struct timespec){.tv_nsec = APART_NS}, NULL);
    }
    standing_release(&s);
    return code;
}
