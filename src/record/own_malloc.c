/*
 * Programs that define malloc themselves: finds these functions, and redirects them to our hooks
 * (entry_patch.h).
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "record/find_export.h"
#include "record/libc.h"
#include "record/loaded_file.h"
#include "record/patch.h"
#include "record/recorder.h"

/* C functions first: if two names mean one function, the first one's hook is called. Those without
 * a field in `next` are hooked with the help of others. */
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

static struct patched functions[] = {
#define PATCHED(n) {.name = #n, .hook = hook_##n},
    FUNCTIONS(PATCHED, PATCHED)};

#define NO_NEXT SIZE_MAX
static const size_t next_of[] = {
#define WITH_NEXT(n) offsetof(struct next, n),
#define WITHOUT(n)   NO_NEXT,
    FUNCTIONS(WITH_NEXT, WITHOUT)};

#define COUNT   (sizeof functions / sizeof *functions)
#define MALLOC  (&functions[0])
#define PVALLOC (&functions[8])
#define C_COUNT 13

static bool taken_over;

bool own_malloc_taken_over(void)
{
    return taken_over;
}

bool own_malloc_took(uint64_t address)
{
    for (size_t i = 0; taken_over && i < COUNT; i++)
        if (functions[i].address == address)
            return true;
    return false;
}

void *own_malloc_original(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(functions[i].name, name) == 0)
            return (void *)(uintptr_t)functions[i].trampoline;
    return NULL;
}

/* --- exports of the executable ---------------------------------------------------------------- */

/*
 * Sanitizers check every address that their own functions return. If their names are not exported,
 * they are recognised by a function that no allocator defines. pthread_create would not do:
 * Firefox, which has its own malloc, defines it too.
 */
static bool is_sanitized(const struct exports *x)
{
    static const char *const names[] = {"__asan_init",   "__tsan_init", "__msan_init",
                                        "__hwasan_init", "__lsan_init", "pthread_join"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (exports_find(x, names[i]))
            return true;
    return false;
}

/* false: it has no malloc of its own, or one that we cannot handle. */
static bool find_functions(const struct exports *x)
{
    bool is_libc = recorder.late && exports_find(x, "gnu_get_libc_version");
    if (!exports_find(x, "malloc") || !exports_find(x, "free") || (!is_libc && is_sanitized(x)))
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

/*
 * A form of operator new or delete that calls malloc or free is seen there, and so is one that
 * calls such a form. One that does not (an allocator's) is hooked itself.
 */
static bool drop_operators(long memory)
{
    uint64_t seen[COUNT];
    size_t count = 0, before;
    struct entry e;
    for (struct patched *f = functions; f < functions + C_COUNT; f++)
        if (f->address)
            seen[count++] = f->address;
    do {
        before = count;
        for (struct patched *f = functions + C_COUNT; f < functions + COUNT; f++) {
            if (!f->address)
                continue;
            if (!patch_read_entry(f, memory, &e))
                return false;
            if (entry_calls(&e, seen, count)) {
                seen[count++] = f->address;
                f->address = 0;
            }
        }
    } while (count > before);
    return true;
}

/* --- own_malloc_take_over
 * -------------------------------------------------------------------------- */

static bool is_rare(const struct patched *f)
{
    static const char *const names[] = {"valloc", "pvalloc",     "free_sized", "free_aligned_sized",
                                        "cfree",  "reallocarray"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(f->name, names[i]) == 0)
            return true;
    return false;
}

/* A size may be asked only if all functions belong to one allocator; pvalloc is looked up
 * separately. */
static void set_next(const struct exports *x)
{
    const ElfW(Sym) *usable = exports_find(x, "malloc_usable_size");
    uint64_t size_of = usable ? x->base + usable->st_value : 0;
    for (struct patched *f = functions; f < functions + COUNT; f++) {
        size_t offset = next_of[f - functions];
        if (offset == NO_NEXT)
            continue;
        if (f->trampoline || f > PVALLOC) /* functions newer than C11 may be missing */
            memcpy((char *)&next + offset, &f->trampoline, sizeof f->trampoline);
        else if (f != PVALLOC && !(recorder.late && is_rare(f)))
            size_of = 0;
    }
    next.pvalloc_is_foreign = !PVALLOC->trampoline;
    memcpy(&next.malloc_usable_size, &size_of, sizeof size_of);
    memcpy(&next.allocator, &MALLOC->address, sizeof MALLOC->address);
}

/* The executable; in a program that was already running, the file whose malloc is called. */
static const struct link_map *main_program(void)
{
    const struct link_map *m = loaded_file_map(functions);
    if (recorder.late)
        return loaded_file_map(libc_default("malloc"));
    while (m && m->l_prev)
        m = m->l_prev;
    return m;
}

void own_malloc_take_over(void)
{
    static bool tried;
    struct exports x;
    struct loaded l;
    const struct link_map *program = tried ? NULL : main_program();
    tried = true;
    if (!program || (!recorder.late && !recorder_is_alone()))
        return;
    exports_read(&x, program);
    if (!find_functions(&x) || !loaded_file_find(MALLOC->address, &l))
        return;
    long memory = patch_open();
    if (memory < 0)
        return;
    bool done = drop_operators(memory) && patch_all(functions, COUNT, l.start, memory);
    if (!done && recorder.late) { /* without functions that are hardly ever called */
        for (struct patched *f = functions; f < functions + C_COUNT; f++)
            if (is_rare(f))
                f->address = 0;
        done = patch_all(functions, COUNT, l.start, memory);
    }
    if (done) {
        set_next(&x);
        taken_over = true;
    }
    patch_close(memory);
}
