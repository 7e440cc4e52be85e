#include "record/routes.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define DECLARE(name)                                                                              \
    extern const char recorded_##name[] __attribute__((visibility("hidden")));
WIRE_ROUTED(DECLARE)

#define SAMPLED(S) S(malloc) S(calloc) S(realloc) S(free)
#define DECLARE_SAMPLED(name)                                                                      \
    extern const char sampled_##name[] __attribute__((visibility("hidden")));
SAMPLED(DECLARE_SAMPLED)

/* Nothing else is on it. Our functions jump through its first words. */
_Alignas(WIRE_PAGE) union {
    const char *first[WIRE_ROUTES];
    struct wire_routes routes;
    char bytes[WIRE_PAGE];
} route_page = {.first = {
#define HOOK_OF(name) recorded_##name,
                    WIRE_ROUTED(HOOK_OF)}};

static bool shared;    /* the page is in the memory that this process shares with the collector, */
static bool inherited; /* or its parent's is, and we must not write to it */

static struct wire_routes *page(void)
{
    return &route_page.routes;
}

static void set(_Atomic uint64_t *route, const void *function)
{
    atomic_store(route, (uint64_t)(uintptr_t)function);
}

/* A pointer to a function as a number, as ISO C does not say. */
static void set_next(_Atomic uint64_t *route, const void *function)
{
    uint64_t address;
    memcpy(&address, function, sizeof address);
    atomic_store(route, address);
}

static void copy(struct wire_routes *to, const struct wire_routes *from)
{
    for (unsigned i = 0; i < WIRE_ROUTES; i++) {
        atomic_store(&to->now[i], atomic_load(&from->now[i]));
        atomic_store(&to->recording[i], atomic_load(&from->recording[i]));
        atomic_store(&to->forward[i], atomic_load(&from->forward[i]));
    }
}

void routes_share(char *memory, int fd)
{
    uint64_t offset = ((struct wire_header *)memory)->routes_offset;
    if (recorder.late || !offset)
        return; /* nobody calls us by these names */
    copy((struct wire_routes *)(memory + offset), page());
    long p = sys_call(SYS_mmap, &route_page, (long)WIRE_PAGE, (long)(PROT_READ | PROT_WRITE),
                      (long)(MAP_SHARED | MAP_FIXED), (long)fd, (long)offset);
    if (p == (long)(uintptr_t)&route_page) {
        shared = true;
        inherited = false;
    }
}

void routes_forked(void)
{
    inherited |= shared;
    shared = false;
}

/* What stood there is moved in as a whole: no other thread finds nothing there. */
static bool make_own(void)
{
    long p = sys_call(SYS_mmap, 0L, (long)WIRE_PAGE, (long)(PROT_READ | PROT_WRITE),
                      (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
    if (p < 0 && p > -4096)
        return false;
    copy((struct wire_routes *)p, page());
    if (sys_call(SYS_mremap, p, (long)WIRE_PAGE, (long)WIRE_PAGE,
                 (long)(MREMAP_MAYMOVE | MREMAP_FIXED), &route_page) !=
        (long)(uintptr_t)&route_page) {
        sys_call(SYS_munmap, p, (long)WIRE_PAGE);
        return false;
    }
    inherited = false;
    return true;
}

/* Memory from before `next` was known must not come to the next free. */
static void fill(void)
{
    struct wire_routes *r = page();
    for (unsigned i = 0; i < WIRE_ROUTES; i++) {
        uint64_t now = atomic_load(&r->now[i]), none = 0;
        atomic_compare_exchange_strong(&r->recording[i], &none, now);
        none = 0;
        atomic_compare_exchange_strong(&r->forward[i], &none, now);
    }
#define RECORDING(name) set(&r->recording[WIRE_ROUTE_##name], recorded_##name);
    SAMPLED(RECORDING)
    set_next(&r->forward[WIRE_ROUTE_malloc], &next.malloc);
    set_next(&r->forward[WIRE_ROUTE_calloc], &next.calloc);
    char *boot;
    if (!boot_bytes(&boot)) {
        set_next(&r->forward[WIRE_ROUTE_realloc], &next.realloc);
        set_next(&r->forward[WIRE_ROUTE_free], &next.free);
    }
}

void routes_begin(void)
{
    struct wire_header *h = recorder.header;
    struct wire_routes *r = page();
    uint32_t dormant;
    if (recorder.late)
        return;
    fill();
#define RECORDING_SAMPLES(name) set(&r->recording[WIRE_ROUTE_##name], sampled_##name);
    /* Beneath a wrapper of CPython's allocators malloc must know that it is. */
    if (recorder.sample_bytes && !h->objects_wanted) {
        SAMPLED(RECORDING_SAMPLES)
    }
    if (atomic_load(&recorder.frees_watched))
        routes_watch_frees();
    if (!shared) { /* the hooks look whether they are dormant */
        wire_routes_set(r, true);
        return;
    }
    do {
        dormant = atomic_load(&h->dormant);
        wire_routes_set(r, dormant != WIRE_DORMANT);
    } while (atomic_load(&h->dormant) != dormant);
}

void routes_off(void)
{
    if (recorder.late || !next.malloc || (inherited && !make_own()))
        return;
    fill();
    wire_routes_set(page(), false);
}

/* A child that has not said hello does not know that the page is not its own. */
static bool is_own(void)
{
    return !recorder.late && !inherited &&
           (!shared || sys_call(SYS_getpid) == (long)recorder.pid);
}

void routes_watch_frees(void)
{
    struct wire_routes *r = page();
    if (recorder.late)
        return;
    set(&r->forward[WIRE_ROUTE_free], recorded_free);
    set(&r->recording[WIRE_ROUTE_free], recorded_free);
    set(&r->now[WIRE_ROUTE_free], recorded_free);
}

void routes_found(enum wire_route form, const void *function, bool recorded)
{
    struct wire_routes *r = page();
    if (!is_own())
        return;
    set(&r->forward[form], function);
    if (!recorded) {
        set(&r->recording[form], function);
        set(&r->now[form], function);
    }
}
