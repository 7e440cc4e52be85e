#include "record/callers_definition.h"

#include <dlfcn.h>
#include <link.h>

#include "record/find_export.h"
#include "record/libc.h"
#include "record/loaded_file.h"
#include "record/recorder.h"

#define HELD_MOST 8

static size_t at_start;                  /* number of files that came with the program */
static uint64_t own;                     /* where ours is */
static _Atomic(void *) loose[HELD_MOST]; /* found in files that may be unloaded */

static int count_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)info, (void)size;
    ++*(size_t *)arg;
    return 0;
}

void definition_start(void)
{
    const struct link_map *ours = loaded_file_map(&own);
    size_t count = 0;
    dl_iterate_phdr(count_one, &count);
    at_start = count;
    if (ours)
        own = ours->l_addr;
}

struct search {
    const char *name;
    size_t seen;
    bool passed; /* our own file */
    size_t count;
    void *first; /* after ours */
    bool came_with_program;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    struct link_map m = {.l_addr = info->dlpi_addr};
    struct exports x;
    (void)size;
    bool is_late = s->seen++ >= at_start;
    if (!s->passed) {
        s->passed = info->dlpi_addr == own;
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            m.l_ld = (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    exports_read(&x, &m);
    const ElfW(Sym) *symbol = exports_find(&x, s->name);
    if (!symbol)
        return 0;
    if (s->count++ == 0) {
        s->first = (void *)(uintptr_t)(x.base + symbol->st_value);
        s->came_with_program = !is_late;
    }
    return s->came_with_program;
}

/* Asks for the global definition, or else for the caller's. The first question is not recorded,
 * because its message is freed at once. The second is, because the loader keeps what it allocates,
 * and frees what was recorded. */
static void *ask_loader(const char *name, uint64_t pc)
{
    uintptr_t busy = tls.busy;
    tls.busy = (uintptr_t)__builtin_frame_address(0);
    void *function = libc_next(name);
    if (!function && libc.dlerror) {
        libc.dlerror();
        libc.dlerror();
    }
    tls.busy = busy;
    const struct link_map *caller = function ? NULL : loaded_file_map((void *)(uintptr_t)(pc - 1));
    if (!caller || !next.dlopen || !libc.dlsym)
        return function;
    /* A handle of its own: what was loaded because others need it cannot be searched directly. */
    void *handle = next.dlopen(caller->l_name, RTLD_LAZY | RTLD_NOLOAD);
    function = handle ? libc.dlsym(handle, name) : NULL;
    if (handle)
        next.dlclose(handle);
    return function;
}

static void keep_in_mind(void *function)
{
    const struct link_map *file = loaded_file_map(function);
    for (unsigned i = 0; file && i < HELD_MOST; i++) {
        void *there = NULL;
        if (atomic_compare_exchange_strong(&loose[i], &there, function))
            return;
        if (loaded_file_map(there) == file)
            return;
    }
}

void *definition_of(const char *name, uint64_t pc)
{
    struct search s = {.name = name};
    if (!own) /* a library's constructor, before any other event */
        definition_start();
    dl_iterate_phdr(look_into, &s);
    if (s.came_with_program || !s.count)
        return s.first;
    void *function = s.count == 1 ? s.first : ask_loader(name, pc);
    if (function)
        keep_in_mind(function);
    return function;
}

void definition_hold(void)
{
    for (unsigned i = 0; i < HELD_MOST; i++) {
        void *function = atomic_exchange(&loose[i], NULL);
        const struct link_map *file = function ? loaded_file_map(function) : NULL;
        if (file && next.dlopen)
            next.dlopen(file->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
}
