#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "record/entry.h"
#include "record/exports.h"
#include "record/libc.h"
#include "record/loaded.h"
#include "record/recorder.h"

#define PAGE 4096

/* C functions first: where two names mean one function, the first one's hook is called. Those
 * without a place in `next` are hooked with the help of others. */
#define FUNCTIONS(WITH_NEXT, WITHOUT)                                                              \
    WITH_NEXT(malloc)                                                                              \
    WITH_NEXT(free)                                                                                \
    WITH_NEXT(calloc)                                                                              \
    WITH_NEXT(realloc)                                                                             \
    WITH_NEXT(posix_memalign)                                                                      \
    WITH_NEXT(aligned_alloc)                                                                       \
    WITH_NEXT(memalign)                                                                            \
    WITH_NEXT(valloc)                                                                              \
    WITH_NEXT(pvalloc)                                                                             \
    WITH_NEXT(free_sized)                                                                          \
    WITH_NEXT(free_aligned_sized)                                                                  \
    WITHOUT(reallocarray)                                                                          \
    WITHOUT(cfree)                                                                                 \
    WITHOUT(_Znwm)                                                                                 \
    WITHOUT(_Znam)                                                                                 \
    WITHOUT(_ZnwmRKSt9nothrow_t)                                                                   \
    WITHOUT(_ZnamRKSt9nothrow_t)                                                                   \
    WITHOUT(_ZnwmSt11align_val_t)                                                                  \
    WITHOUT(_ZnamSt11align_val_t)                                                                  \
    WITHOUT(_ZnwmSt11align_val_tRKSt9nothrow_t)                                                    \
    WITHOUT(_ZnamSt11align_val_tRKSt9nothrow_t)                                                    \
    WITHOUT(_ZdlPv)                                                                                \
    WITHOUT(_ZdaPv)                                                                                \
    WITHOUT(_ZdlPvm)                                                                               \
    WITHOUT(_ZdaPvm)                                                                               \
    WITHOUT(_ZdlPvRKSt9nothrow_t)                                                                  \
    WITHOUT(_ZdaPvRKSt9nothrow_t)                                                                  \
    WITHOUT(_ZdlPvSt11align_val_t)                                                                 \
    WITHOUT(_ZdaPvSt11align_val_t)                                                                 \
    WITHOUT(_ZdlPvmSt11align_val_t)                                                                \
    WITHOUT(_ZdaPvmSt11align_val_t)                                                                \
    WITHOUT(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                                   \
    WITHOUT(_ZdaPvSt11align_val_tRKSt9nothrow_t)

#define DECLARE(name)                                                                              \
    extern const char hook_##name[] __asm__("entry_" #name) __attribute__((visibility("hidden")));
FUNCTIONS(DECLARE, DECLARE)

#define NO_NEXT SIZE_MAX
static struct function {
    const char *name;
    const void *hook;
    size_t next;
    uint64_t address, size; /* in the executable; 0: it has none, or keeps it */
    uint64_t trampoline;
    uint8_t before[ENTRY_PATCH], patch[ENTRY_PATCH];
} functions[] = {
#define WITH_NEXT(n) {.name = #n, .hook = hook_##n, .next = offsetof(struct next, n)},
#define WITHOUT(n)   {.name = #n, .hook = hook_##n, .next = NO_NEXT},
    FUNCTIONS(WITH_NEXT, WITHOUT)};

#define COUNT   (sizeof functions / sizeof *functions)
#define MALLOC  (&functions[0])
#define FREE    (&functions[1])
#define PVALLOC (&functions[8])
#define C_COUNT 13
#define ISLAND  ((COUNT * ENTRY_SLOT + PAGE - 1) / PAGE * PAGE)

static bool taken_over;

bool entry_taken_over(void)
{
    return taken_over;
}

bool entry_took(uint64_t address)
{
    for (size_t i = 0; taken_over && i < COUNT; i++)
        if (functions[i].address == address)
            return true;
    return false;
}

void *entry_original(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(functions[i].name, name) == 0)
            return (void *)(uintptr_t)functions[i].trampoline;
    return NULL;
}

/* --- what the executable exports -------------------------------------------------------------- */

/*
 * Sanitizers check every address that their own functions hand out. Where their names are not for
 * others to see, they are known by what no allocator defines.
 */
static bool is_sanitized(const struct exports *x)
{
    static const char *const names[] = {"__asan_init",   "__tsan_init", "__msan_init",
                                        "__hwasan_init", "__lsan_init", "pthread_create"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (exports_find(x, names[i]))
            return true;
    return false;
}

/* False: there is no malloc of its own, or nothing that we can deal with. */
static bool find_functions(const struct exports *x)
{
    if (!exports_find(x, "malloc") || !exports_find(x, "free") || is_sanitized(x))
        return false;
    for (size_t i = 0; i < COUNT; i++) {
        const ElfW(Sym) *s = exports_find(x, functions[i].name);
        if (!s)
            continue;
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || !s->st_size)
            return false;
        functions[i].address = x->base + s->st_value;
        functions[i].size = s->st_size;
    }
    return true;
}

/* --- their code ------------------------------------------------------------------------------- */

static uint8_t code[8192]; /* of longer functions, the beginning is looked at */

static bool read_function(struct function *f, long memory, struct entry *e)
{
    uint64_t page_end = (f->address + f->size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    size_t size = f->size < sizeof code ? f->size : sizeof code;
    size_t room = page_end - f->address < sizeof code ? page_end - f->address : sizeof code;
    if (sys_call(SYS_pread64, memory, code, room, f->address) != (long)room)
        return false;
    memcpy(f->before, code, sizeof f->before);
    *e = (struct entry){
        .address = f->address, .code = code, .size = size, .readable = room, .hook = f->hook};
    return true;
}

/*
 * A form of operator new or delete that calls malloc or free is seen there, as is one that calls
 * such a form. One that does not (an allocator's) is hooked itself.
 */
static bool drop_operators(long memory)
{
    uint64_t seen[COUNT];
    size_t count = 0, before;
    struct entry e;
    for (struct function *f = functions; f < functions + C_COUNT; f++)
        if (f->address)
            seen[count++] = f->address;
    do {
        before = count;
        for (struct function *f = functions + C_COUNT; f < functions + COUNT; f++) {
            if (!f->address)
                continue;
            if (!read_function(f, memory, &e))
                return false;
            if (entry_calls(&e, seen, count)) {
                seen[count++] = f->address;
                f->address = 0;
            }
        }
    } while (count > before);
    return true;
}

static const struct function *same_function(const struct function *f)
{
    for (const struct function *g = functions; g < f; g++)
        if (g->address == f->address)
            return g;
    return NULL;
}

static bool make_all(uint8_t *island, long memory)
{
    for (struct function *f = functions; f < functions + COUNT; f++) {
        const struct function *same = f->address ? same_function(f) : NULL;
        uint8_t *slot = island + (size_t)(f - functions) * ENTRY_SLOT;
        struct entry e;
        if (same)
            f->trampoline = same->trampoline;
        else if (f->address && (!read_function(f, memory, &e) ||
                                !entry_make(&e, slot, (uintptr_t)slot, f->patch, &f->trampoline)))
            return false;
    }
    return true;
}

/*
 * Through the kernel, which copies the page and leaves its protection as it is: it is never
 * writable for the program. If that is refused half way, what was written is taken back.
 */
static bool write_all(long memory)
{
    for (struct function *f = functions; f < functions + COUNT; f++) {
        if (!f->address || same_function(f) ||
            sys_call(SYS_pwrite64, memory, f->patch, (long)ENTRY_PATCH, f->address) == ENTRY_PATCH)
            continue;
        while (f-- > functions)
            if (f->address && !same_function(f))
                sys_call(SYS_pwrite64, memory, f->before, (long)ENTRY_PATCH, f->address);
        return false;
    }
    return true;
}

uint8_t *entry_island(uint64_t start, size_t size)
{
    for (uint64_t below = 1 << 16; below < 1 << 30 && below + (1 << 16) <= start; below *= 2) {
        uint64_t at = (start - below) & ~(uint64_t)(PAGE - 1);
        long p = sys_call(SYS_mmap, at, (long)size, (long)(PROT_READ | PROT_WRITE),
                          (long)(MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE), -1L, 0L);
        if (p == (long)at)
            return (uint8_t *)p;
        if (p > 0 || p < -4095)
            sys_call(SYS_munmap, p, (long)size); /* an old kernel took it for a wish */
    }
    return NULL;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* A size may be asked only if all functions are of one allocator; pvalloc is asked for apart. */
static void set_next(const struct exports *x)
{
    const ElfW(Sym) *usable = exports_find(x, "malloc_usable_size");
    uint64_t size_of = usable ? x->base + usable->st_value : 0;
    for (struct function *f = functions; f < functions + COUNT; f++) {
        if (f->next == NO_NEXT)
            continue;
        if (f->trampoline || f > PVALLOC) /* what is newer than C11 may be missing */
            memcpy((char *)&next + f->next, &f->trampoline, sizeof f->trampoline);
        else if (f != PVALLOC)
            size_of = 0;
    }
    next.pvalloc_is_foreign = !PVALLOC->trampoline;
    memcpy(&next.malloc_usable_size, &size_of, sizeof size_of);
    memcpy(&next.allocator, &MALLOC->address, sizeof MALLOC->address);
}

static const struct link_map *main_program(void)
{
    const struct link_map *m = loaded_map(code);
    while (m && m->l_prev)
        m = m->l_prev;
    return m;
}

void entry_take_over(void)
{
    static bool tried;
    struct exports x;
    struct loaded l;
    const struct link_map *program = tried ? NULL : main_program();
    tried = true;
    if (!program || !recorder_is_alone())
        return;
    exports_read(&x, program);
    if (!find_functions(&x) || !loaded_find(MALLOC->address, &l))
        return;
    long memory =
        sys_call(SYS_openat, (long)AT_FDCWD, "/proc/self/mem", (long)(O_RDWR | O_CLOEXEC));
    if (memory < 0)
        return;
    uint8_t *island = entry_island(l.start, ISLAND);
    if (island && drop_operators(memory) && make_all(island, memory) &&
        sys_call(SYS_mprotect, island, (long)ISLAND, (long)(PROT_READ | PROT_EXEC)) == 0 &&
        write_all(memory)) {
        set_next(&x);
        recorder_own(island, ISLAND);
        taken_over = true;
    } else if (island) {
        sys_call(SYS_munmap, island, (long)ISLAND);
    }
    sys_call(SYS_close, memory);
}
