#include "record/routes.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/bootstrap_alloc.h"

#define DECLARE(name) extern const char recorded_##name[] __attribute__((visibility("hidden")));
WIRE_ROUTED(DECLARE)

#define SAMPLED(S) S(malloc) S(calloc) S(realloc) S(free)
#define DECLARE_SAMPLED(name)                                                                      \
    extern const char sampled_##name[] __attribute__((visibility("hidden")));
SAMPLED(DECLARE_SAMPLED)

/* Nothing else is on this page. Our functions jump through its first words. */
_Alignas(WIRE_PAGE) union {
    const char *first[WIRE_ROUTES];
    struct wire_routes routes;
    char bytes[WIRE_PAGE];
} route_page = {.first = {
#define HOOK_OF(name) recorded_##name,
                    WIRE_ROUTED(HOOK_OF)}};

static bool shared;    /* the page is in the memory that this process shares with the collector, */
static bool inherited; /* or it is the parent's, and we must not write to it */

static struct wire_routes *page(void)
{
    return &route_page.routes;
}

/*
 * A call goes wherever the page says, so a program that writes to wrong addresses must not be able
 * to change it: if the page is shared, it is writable only between page_open and page_close, by one
 * thread at a time.
 */
static atomic_bool being_written;

static bool protect(void *at, long rights)
{
    return (!shared && !inherited) || sys_call(SYS_mprotect, at, (long)WIRE_PAGE, rights) == 0;
}

/* false: the kernel does not allow it (seccomp), or another thread is writing and `wait` is false.
 * Calls then go on through the hooks, or wherever they went. */
static bool page_open(bool wait)
{
    while (atomic_exchange(&being_written, true)) {
        if (!wait)
            return false;
        sys_yield();
    }
    if (protect(&route_page, PROT_READ | PROT_WRITE))
        return true;
    atomic_store(&being_written, false);
    return false;
}

static void page_close(void)
{
    protect(&route_page, PROT_READ);
    atomic_store(&being_written, false);
}

static void set(_Atomic uint64_t *route, const void *function)
{
    atomic_store(route, (uint64_t)(uintptr_t)function);
}

/* A pointer to a function as a number, which ISO C does not define. */
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

/* By the linker. */
extern char _end[] __attribute__((visibility("hidden")));

/* What follows the page, our .bss, is then not next to our file in /proc/PID/maps. */
static void own_bss(void)
{
    static bool done;
    uintptr_t start = (uintptr_t)(&route_page + 1);
    if (!done)
        recorder_own((const void *)start, (uintptr_t)_end - start);
    done = true;
}

void routes_share(char *memory, int fd)
{
    uint64_t offset = ((struct wire_header *)memory)->routes_offset;
    if (recorder.late || !offset)
        return; /* nobody calls us by these names */
    copy((struct wire_routes *)(memory + offset), page());
    sys_call(SYS_mprotect, memory + offset, (long)WIRE_PAGE, (long)PROT_READ); /* see page_open */
    long p = sys_call(SYS_mmap, &route_page, (long)WIRE_PAGE, (long)PROT_READ,
                      (long)(MAP_SHARED | MAP_FIXED), (long)fd, (long)offset);
    if (p == (long)(uintptr_t)&route_page) {
        shared = true;
        inherited = false;
        own_bss();
    }
}

void routes_forked(void)
{
    inherited |= shared;
    shared = false;
    atomic_store(&being_written, false);
}

/* The old contents are moved in at once: no other thread finds an empty page. */
static bool make_own(void)
{
    long p = sys_call(SYS_mmap, 0L, (long)WIRE_PAGE, (long)(PROT_READ | PROT_WRITE),
                      (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
    if (p < 0 && p > -4096)
        return false;
    copy((struct wire_routes *)p, page());
    if (sys_call(SYS_mremap, p, (long)WIRE_PAGE, (long)WIRE_PAGE,
                 (long)(MREMAP_MAYMOVE | MREMAP_FIXED),
                 &route_page) != (long)(uintptr_t)&route_page) {
        sys_call(SYS_munmap, p, (long)WIRE_PAGE);
        return false;
    }
    inherited = shared = false;
    return true;
}

/* Memory from before `next` was known must not reach the next free. */
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

static void watch_frees(struct wire_routes *r)
{
    set(&r->forward[WIRE_ROUTE_free], recorded_free);
    set(&r->recording[WIRE_ROUTE_free], recorded_free);
    set(&r->now[WIRE_ROUTE_free], recorded_free);
}

void routes_begin(void)
{
    struct wire_header *h = recorder.header;
    struct wire_routes *r = page();
    uint32_t dormant;
    if (recorder.late || !page_open(true))
        return;
    if (inherited && !make_own()) {
        page_close();
        return;
    }
    fill();
#define RECORDING_SAMPLES(name) set(&r->recording[WIRE_ROUTE_##name], sampled_##name);
    /* Inside a wrapper of CPython's allocators, malloc must know that it is. */
    if (recorder.sample_bytes && !h->objects_wanted) {
        SAMPLED(RECORDING_SAMPLES)
    }
    if (atomic_load(&recorder.frees_watched))
        watch_frees(r);
    do { /* if the page is not shared, the hooks check whether they are dormant */
        dormant = shared ? atomic_load(&h->dormant) : 0;
        wire_routes_set(r, dormant != WIRE_DORMANT);
    } while (shared && atomic_load(&h->dormant) != dormant);
    page_close();
}

/* On a page of its own: a child that was forked before is not off, and uses the one that it shares
 * with us until it connects. */
void routes_off(void)
{
    if (recorder.late || !next.malloc || !page_open(true))
        return;
    if ((!inherited && !shared) || make_own()) {
        fill();
        wire_routes_set(page(), false);
    }
    page_close();
}

/* A child that has not connected does not know that the page is not its own. */
static bool is_own(void)
{
    return !recorder.late && !inherited && (!shared || sys_call(SYS_getpid) == (long)recorder.pid);
}

void routes_watch_frees(void)
{
    if (recorder.late || !page_open(true))
        return;
    watch_frees(page());
    page_close();
}

void routes_found(enum wire_route form, const void *function, bool recorded)
{
    struct wire_routes *r = page();
    if (!is_own() || !page_open(false))
        return; /* then calls of this form go on through its hook */
    set(&r->forward[form], function);
    if (!recorded) {
        set(&r->recording[form], function);
        set(&r->now[form], function);
    }
    page_close();
}
