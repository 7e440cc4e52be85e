#include "collect/session/unhooked_libraries.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "collect/proc/own_mappings.h"
#include "collect/proc/remote_memory.h"
#include "collect/proc/smaps.h"
#include "collect/session/not_recorded.h"

#define UNHOOKED_MAX 1024

/* The address that the loader put into a slot of the library at `start`; 0: there is no such
 * slot. */
static uint64_t bound_to(const struct remote_memory *memory, uint64_t start, uint64_t slot)
{
    uint64_t called;
    return slot && remote_memory_read(memory, start + slot, &called, sizeof called) ==
                       (ssize_t)sizeof called
               ? called
               : 0;
}

static bool is_libc(const struct proc_mappings *all, uint64_t address)
{
    const struct proc_mapping *p = address ? proc_mapping_at(all, address) : NULL;
    return p && strcmp(path_base(p->name), "libc.so.6") == 0;
}

static struct unhooked_library *find(const struct not_recorded *u, const struct target *t,
                                     const char *path)
{
    for (size_t i = 0; i < u->unhooked.count; i++)
        if (u->unhooked.items[i].target == t && strcmp(u->unhooked.items[i].library, path) == 0)
            return &u->unhooked.items[i];
    return NULL;
}

static void add(struct not_recorded *u, struct target *t, const char *path, enum unhooked_way way)
{
    if (u->unhooked.count < UNHOOKED_MAX && *path && !find(u, t, path))
        *vec_push(&u->unhooked) =
            (struct unhooked_library){.target = t, .library = xstrdup(path), .way = way};
}

/* The library may have been examined just before, when it was still bound to libc's functions. */
void unhooked_libraries_bound(struct not_recorded *u, struct target *t, const char *path,
                              bool missed)
{
    struct unhooked_library *b = find(u, t, path);
    if (!b)
        add(u, t, path, missed ? UNHOOKED_EARLY : UNHOOKED_BOUND);
    else if (b->way != UNHOOKED_EARLY)
        b->way = missed ? UNHOOKED_EARLY : UNHOOKED_BOUND;
}

static void examine_library(struct not_recorded *u, struct target *t,
                            const struct remote_memory *memory, const char *path, uint64_t start,
                            const struct proc_mappings *all)
{
    const struct executable *e = not_recorded_file(u, path);
    uint64_t called = bound_to(memory, start, e->malloc_slot);
    if (e->own_malloc == OWN_MALLOC_HIDDEN)
        add(u, t, path, UNHOOKED_HIDDEN);
    else if (e->own_malloc == OWN_MALLOC_EXPORTED && called && called == start + e->malloc_address)
        add(u, t, path, UNHOOKED_OWN);
    else if (e->own_malloc == OWN_MALLOC_NONE &&
             (is_libc(all, called) || is_libc(all, bound_to(memory, start, e->free_slot))))
        add(u, t, path, UNHOOKED_LIBC);
}

/* A file that is not mapped executable is no library but data: a program that prints its stack
 * reads its own debug information, for example. */
size_t unhooked_libraries_check(struct not_recorded *u, struct target *t)
{
    struct strbuf text = {0};
    struct proc_mappings own = {0};
    const struct proc_mappings *all = t->still ? &t->still->all : &own;
    const struct proc_mapping *begins = NULL;
    struct remote_memory memory;
    if (!t->still)
        proc_read_mappings(t->pid, "maps", &text, &own);
    remote_memory_open(&memory, t->pid);
    for (size_t i = 0; i < all->items.count && u->unhooked.count < UNHOOKED_MAX; i++) {
        const struct proc_mapping *p = &all->items.items[i];
        if (*p->name != '/')
            continue;
        if (p->mapping.offset == 0)
            begins = p;
        if (p->mapping.flags & MAPPING_EXECUTE && begins && strcmp(begins->name, p->name) == 0 &&
            strcmp(p->name, t->profile.executable) != 0 && !is_own_library(p->name))
            examine_library(u, t, &memory, p->name, begins->mapping.start, all);
    }
    size_t count = all->items.count;
    remote_memory_close(&memory);
    strbuf_release(&text);
    vec_release(&own.items);
    return count;
}

static const char *const reasons[] = {
    [UNHOOKED_HIDDEN] = "a malloc of its own is linked into it; link the allocator as a shared "
                        "library",
    [UNHOOKED_OWN] =
        "it calls its own malloc, because it was loaded with RTLD_DEEPBIND or dlmopen; "
        "load it with dlopen and without that flag",
    [UNHOOKED_LIBC] =
        "it calls libc's malloc directly, because it was loaded with RTLD_DEEPBIND or dlmopen; "
        "blocks that others allocate or free for it are recorded only in part",
    [UNHOOKED_EARLY] = "it was loaded with RTLD_DEEPBIND, and called libc's malloc directly until "
                       "that was noticed; what it allocated after its constructors is recorded",
};

/* Adds one note for all libraries of a target that avoid the recorder in the same way: there may be
 * many. */
void unhooked_libraries_explain(const struct not_recorded *u)
{
    for (size_t i = 0; i < u->unhooked.count; i++) {
        const struct unhooked_library *b = &u->unhooked.items[i];
        size_t before = 0, more = 0;
        for (size_t k = 0; k < u->unhooked.count; k++)
            if (u->unhooked.items[k].target == b->target && u->unhooked.items[k].way == b->way)
                *(k < i ? &before : &more) += 1;
        if (before || b->way == UNHOOKED_BOUND)
            continue;
        char *others = more > 1 ? xasprintf(" (and by %zu more libraries)", more - 1) : xstrdup("");
        *vec_push(&b->target->profile.notes) =
            xasprintf("%s by %s%s could not be seen: %s",
                      b->way == UNHOOKED_EARLY ? "the first allocations" : "allocations",
                      b->library, others, reasons[b->way]);
        free(others);
    }
}
