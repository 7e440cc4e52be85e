#include "record/python_objects.h"

#include <string.h>

#include "record/instruction.h"
#include "record/loaded_file.h"
#include "record/routes.h"

struct python_codes python_codes = {.type = PYTHON_UNWATCHED, .era = 1};

static bool is_gone(const struct python_wrapper *w)
{
    void *f;
    memcpy(&f, &w->next.malloc, sizeof f);
    return !loaded_file_map(f);
}

/* The wrapper that calls this allocator; NULL: all are taken. One whose interpreter was unloaded is
 * not called by anybody. */
static struct python_wrapper *wrapper_of(const struct python_allocator *a, enum python_room room)
{
    struct python_wrapper *unused = NULL;
    for (unsigned i = 0; i < WRAPPERS; i++) {
        struct python_wrapper *w = &python_wrappers[i];
        if (w->next.malloc && memcmp(&w->next, a, sizeof *a) == 0)
            return w;
        if (!unused && (!w->next.malloc || is_gone(w)))
            unused = w;
    }
    if (unused)
        *unused = (struct python_wrapper){.next = *a, .room = room};
    return unused;
}

static bool is_wrapped(const struct python_allocator *a)
{
    for (unsigned i = 0; i < WRAPPERS; i++)
        if (a->malloc == python_hooks[i].malloc)
            return true;
    return false;
}

/* Is it one that the interpreter was built with? A debugging allocator of the interpreter has a
 * context, one of the program is elsewhere; the program may have set either before the interpreter
 * was found. */
static bool is_built_in(const struct python_tables *tables, const struct python_allocator *a)
{
    void *get, *f;
    memcpy(&get, &tables->get, sizeof get);
    memcpy(&f, &a->malloc, sizeof f);
    const struct link_map *interpreter = loaded_file_map(get);
    return !a->context && interpreter && loaded_file_map(f) == interpreter;
}

static void watch(uint64_t code_type)
{
    atomic_fetch_add(&python_codes.era, 1); /* what was freed before was not seen */
    atomic_store(&python_codes.type, code_type);
}

/* Wraps one that is not; NULL: it cannot be. */
static struct python_wrapper *wrap(const struct python_tables *tables, int domain,
                                   const struct python_allocator *now, bool untouched)
{
    enum python_room built_in = domain == PYTHON_RAW ? ROOM_MALLOC : ROOM_POOLS;
    bool known = untouched && is_built_in(tables, now);
    struct python_wrapper *w = wrapper_of(now, known ? built_in : ROOM_UNKNOWN);
    if (w) {
        struct python_allocator hooks = python_hooks[w - python_wrappers];
        hooks.context = now->context;
        tables->set(domain, &hooks);
    }
    return w;
}

bool python_objects_wrap(const struct python_tables *tables, uint64_t code_type)
{
    bool untouched = !python_wrappers[0].next.malloc && !tables->is_initialized();
    for (int domain = 0; domain < PYTHON_DOMAINS; domain++) {
        struct python_allocator now;
        tables->get(domain, &now);
        if (is_wrapped(&now))
            continue;
        const struct python_wrapper *w = wrap(tables, domain, &now, untouched);
        if (domain == PYTHON_OBJ)
            watch(w && w->room == ROOM_POOLS ? code_type : PYTHON_UNWATCHED);
        if (!w)
            return false;
    }
    return true;
}

/* Its code is the proof: whoever wrote it, it calls our hook with its argument. */
void python_objects_watch(const struct python_tables *tables, uint64_t code_type)
{
    struct python_allocator now;
    void *f;
    tables->get(PYTHON_OBJ, &now);
    memcpy(&f, &now.free, sizeof f);
    if (recorder.sample_bytes) /* stacks are rare then, and frees must cost nothing */
        return;
    if (!f || !instruction_hands_on(f, (uint64_t)(uintptr_t)own_free))
        return;
    atomic_store(&recorder.frees_watched, true);
    routes_watch_frees();
    watch(code_type);
}

void python_objects_unwatch(void)
{
    atomic_store(&python_codes.type, PYTHON_UNWATCHED);
    atomic_store(&recorder.frees_watched, false);
}
