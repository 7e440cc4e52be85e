#include "collect/attach/safe_point.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/attach/remote_stack.h"
#include "machine/code.h"
#include "machine/remote.h"
#include "machine/remote_frame.h"
#include "machine/stopped.h"

#define MALLOC_MOST (UINT64_C(1) << 17) /* the code of glibc's malloc takes less */
#define BESIDE_MOST (UINT64_C(1) << 14) /* the code beside a function of libc takes less */
#define STACK_MOST  (UINT64_C(64) << 20)
#define STACK_ROOM  (REMOTE_RED_ZONE + REMOTE_FRAME_MOST)

/* Functions that glibc's malloc.c exports. */
static const char *const malloc_names[] = {
    "malloc",       "free",        "calloc",   "realloc",        "memalign",
    "valloc",       "pvalloc",     "mallinfo", "posix_memalign", "aligned_alloc",
    "malloc_stats", "malloc_trim", "mallopt",  "malloc_info",    "malloc_usable_size"};

/* Functions of libc that hold locks which pthread_create or malloc need. */
static const char *const other_names[] = {
    "fork",     "_Fork",     "__libc_fork", "pthread_create", "__nptl_deallocate_stack",
    "setuid",   "setgid",    "seteuid",     "setegid",        "setreuid",
    "setregid", "setresuid", "setresgid",   "setgroups"};

struct neighbours {
    uint64_t first, last; /* the functions whose addresses are known */
    uint64_t below, above;
};

static void narrow(void *context, uint64_t address, uint64_t size)
{
    struct neighbours *n = context;
    uint64_t end = address + size;
    if (end <= n->first && end > n->below)
        n->below = end;
    if (address >= n->last && address < n->above)
        n->above = address;
}

/* Finds a function and the code beside it that libc does not export: [*start, *end). */
static bool find_with_neighbours(struct safe_points *s, const char *name, uint64_t *start,
                                 uint64_t *end)
{
    struct remote_function f;
    if (!remote_function(s->modules, s->libc, name, &f))
        return false;
    struct neighbours n = {f.address, f.address + f.size, s->libc->code_start, s->libc->code_end};
    remote_functions(s->modules, s->libc, narrow, &n);
    *start = n.below;
    *end = n.above;
    return n.above - n.below <= BESIDE_MOST;
}

/*
 * The lock of the list of stacks, which pthread_create takes, is also held by functions that libc
 * does not export: those that free the stack of a thread that has ended or was joined, and those
 * that change the user of all threads. glibc's linker puts them beside __pthread_get_minstack, and
 * what pthread_join consists of beside pthread_join. A thread may wait in the latter, but not while
 * it holds the lock.
 */
static void add_stack_list(struct safe_points *s)
{
    uint64_t start, end;
    if (find_with_neighbours(s, "__pthread_get_minstack", &start, &end))
        address_set_add(&s->always, start, end);
    if (find_with_neighbours(s, "pthread_join", &start, &end))
        address_set_add(&s->unsafe, start, end);
}

/* The linker puts the functions of one source file next to each other. Those that malloc.c does not
 * export are between the exported ones, or just beside them. */
static bool add_malloc(struct safe_points *s)
{
    struct neighbours n = {UINT64_MAX, 0, s->libc->code_start, s->libc->code_end};
    for (size_t i = 0; i < sizeof malloc_names / sizeof *malloc_names; i++) {
        struct remote_function f;
        if (!remote_function(s->modules, s->libc, malloc_names[i], &f))
            continue;
        n.first = f.address < n.first ? f.address : n.first;
        n.last = f.address + f.size > n.last ? f.address + f.size : n.last;
    }
    if (n.first >= n.last || n.last - n.first > MALLOC_MOST)
        return false;
    remote_functions(s->modules, s->libc, narrow, &n);
    address_set_add(&s->unsafe, n.below, n.above);
    return true;
}

/* Adds allocators other than libc's; false: the executable itself has one. */
static bool add_allocators(struct safe_points *s)
{
    struct remote_modules *m = s->modules;
    for (size_t i = 0; i < m->items.count; i++) {
        struct remote_module *f = &m->items.items[i];
        struct remote_function a, b;
        if (f == s->libc || f == s->loader || f->code_start == f->code_end ||
            !remote_function(m, f, "malloc", &a) || !remote_function(m, f, "free", &b))
            continue;
        if (i == 0)
            return false;
        address_set_add(&s->unsafe, f->code_start, f->code_end);
    }
    return true;
}

static struct remote_module *find_loader(struct remote_modules *m)
{
    struct remote_function f;
    for (size_t i = 0; i < m->items.count; i++)
        if (m->items.items[i].code_start &&
            remote_function(m, &m->items.items[i], "__tls_get_addr", &f) &&
            remote_function(m, &m->items.items[i], "_r_debug", &f))
            return &m->items.items[i];
    return NULL;
}

int safe_points_find(struct safe_points *s, struct remote_modules *m, struct err *err)
{
    struct remote_function f;
    *s = (struct safe_points){.modules = m, .libc = remote_module_named(m, "libc")};
    s->loader = find_loader(m);
    if (!s->libc || !s->loader || !remote_function(m, s->libc, "gnu_get_libc_version", &f))
        return err_set(err, -ENOTSUP,
                       "process %d has no glibc (it is linked statically, uses another C library, "
                       "or has only just started), so tidemark cannot be loaded into it",
                       (int)m->pid);
    address_set_add(&s->unsafe, s->loader->code_start, s->loader->code_end);
    if (!add_malloc(s))
        return err_set(err, -ENOTSUP, "the malloc of process %d is not where glibc puts it",
                       (int)m->pid);
    if (!add_allocators(s))
        return err_set(err, -ENOTSUP,
                       "the program of process %d has its own malloc in its executable, so "
                       "tidemark cannot attach to it; start it with 'tidemark run'",
                       (int)m->pid);
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (remote_function(m, s->libc, other_names[i], &f))
            address_set_add(&s->always, f.address, f.address + f.size);
    add_stack_list(s);
    address_set_copy(&s->unsafe, &s->always);
    address_set_settle(&s->unsafe);
    address_set_settle(&s->always);
    return 0;
}

void safe_points_release(struct safe_points *s)
{
    address_set_release(&s->unsafe);
    address_set_release(&s->always);
}

static bool is_in(const struct address_set *set, uint64_t address)
{
    size_t i = address_set_find(set, address);
    return i < set->items.count && address >= set->items.items[i].start;
}

static bool follows_call(const struct safe_points *s, uint64_t address)
{
    uint8_t code[ARCH_CALL_LONGEST];
    return remote_memory_read(&s->modules->memory, address - sizeof code, code, sizeof code) !=
               (ssize_t)sizeof code ||
           arch_is_call(code);
}

/* Is this the address of the code by which a signal handler returns? */
static bool is_signal_return(const struct safe_points *s, uint64_t address)
{
    uint8_t code[REMOTE_SIGNAL_RETURN_BYTES];
    const struct remote_region *r = remote_region_at(s->modules, address);
    return r && r->executable &&
           remote_memory_read(&s->modules->memory, address, code, sizeof code) ==
               (ssize_t)sizeof code &&
           memcmp(code, REMOTE_SIGNAL_RETURN, sizeof code) == 0;
}

/* Unwinds the stack: false if that fails, or if any frame is in unsafe code. */
static bool frames_are_safe(const struct safe_points *s, const struct remote_thread *t,
                            uint64_t end)
{
    static uint64_t frames[REMOTE_FRAMES];
    uint32_t count = remote_stack(s->modules, &t->registers, end, frames);
    for (uint32_t i = 0; i < count; i++)
        if (is_in(&s->unsafe, frames[i] - 1))
            return false;
    return count > 0;
}

/* Searches every word of the stack for return addresses in unsafe code. */
static bool stack_words_are_safe(const struct safe_points *s, const struct remote_thread *t,
                                 uint64_t end)
{
    uint64_t start = stopped_stack(&t->registers) & ~UINT64_C(7);
    bool waits = remote_waits(&t->registers);
    const struct address_set *where = waits ? &s->always : &s->unsafe;
    size_t size = (size_t)(end - start) & ~(size_t)7;
    uint64_t *words = xmalloc(size);
    bool clean = remote_memory_read(&s->modules->memory, start, words, size) == (ssize_t)size;
    for (size_t i = 0; clean && i < size / sizeof *words; i++)
        clean = (!is_in(where, words[i]) || !follows_call(s, words[i])) &&
                !(waits && is_signal_return(s, words[i]));
    free(words);
    return clean;
}

/* Is the thread on its own stack, with room for a frame below? Then *end is where no frame is
 * above. */
static bool find_stack(const struct remote_modules *m, const struct remote_thread *t, bool is_first,
                       uint64_t *end)
{
    uint64_t stack = stopped_stack(&t->registers);
    uint64_t pointer = stopped_thread_pointer(t->tid, &t->registers);
    const struct remote_region *r = remote_region_at(m, stack);
    if (!r)
        return false;
    *end = is_first ? r->end : pointer;
    return is_first ? r->is_stack /* there is nothing below it that belongs to others */
                    : pointer > stack && pointer < r->end && stack - r->start >= STACK_ROOM;
}

bool safe_stack_is(const struct remote_modules *m, const struct remote_thread *t, bool is_first)
{
    uint64_t end;
    return find_stack(m, t, is_first, &end);
}

bool safe_point_is(const struct safe_points *s, const struct remote_thread *t, bool is_first)
{
    uint64_t stack = stopped_stack(&t->registers), end;
    if (!find_stack(s->modules, t, is_first, &end))
        return false;
    return !is_in(&s->unsafe, remote_pc(&t->registers)) && end - stack <= STACK_MOST &&
           (frames_are_safe(s, t, end) || stack_words_are_safe(s, t, end));
}
