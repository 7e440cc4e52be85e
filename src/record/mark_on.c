/*
 * run --mark-on FUNCTION: each entry of a function becomes a mark, in a program that does not
 * cooperate.
 *
 * The collector knows the names and looks for them in the symbol tables of each file that is
 * loaded; here the functions' first bytes are replaced (entry_patch.h). That is done only to code
 * that nobody can be executing: what was loaded at the start, while there is one thread; and what
 * dlopen loads, before any of it runs. To know when that is: the loader calls an empty function of
 * its own whenever its list of files has changed, for debuggers to stop at (r_brk). Its entry is
 * replaced too. The loader holds its lock when it calls that, so there is one thread here at a
 * time. [malloc-free]
 *
 * gpu.h must know of new files, too. With --sample and --dormant that is here.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "record/libc.h"
#include "record/loaded_file.h"
#include "record/patch.h"
#include "record/recorder.h"

#define ISLAND        (WIRE_FUNCTIONS_MAX * ENTRY_SLOT)
#define FILES         8192
#define FILES_CHANGED 0                   /* the number of the loader's function */
#define NEAR          (UINT64_C(1) << 32) /* added to the number: it may be the allocator's */

/* Files that have been handled. */
static struct seen {
    const struct link_map *file;
    uint64_t base;
    const void *dynamic;
    uint8_t *island; /* NULL: it has no such function */
    bool there;
} * seen; /* [FILES] */
static unsigned seen_count;

/* A patch that waits until all of a file's are ready. */
struct patch {
    uint64_t address;
    uint8_t bytes[ENTRY_PATCH];
};

/* --- one function ----------------------------------------------------------------------------- */

static bool is_taken(uint64_t address, const struct patch *patches, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (patches[i].address == address)
            return true;
    return false;
}

/* Is it a function that the program reaches only through a hook that counts its calls? */
static bool is_hooked(uint64_t address)
{
    const uintptr_t hooked[] = {
        (uintptr_t)next.malloc,         (uintptr_t)next.calloc,        (uintptr_t)next.realloc,
        (uintptr_t)next.free,           (uintptr_t)next.aligned_alloc, (uintptr_t)next.memalign,
        (uintptr_t)next.posix_memalign, (uintptr_t)next.valloc,        (uintptr_t)next.pvalloc,
        (uintptr_t)next.mmap,           (uintptr_t)next.munmap,        (uintptr_t)next.mremap,
    };
    for (unsigned i = 0; i < sizeof hooked / sizeof *hooked; i++)
        if (hooked[i] == address)
            return true;
    return false;
}

/* Fills a slot and a patch. false: *why it is not marked. */
static bool prepare(const struct wire_function *f, uint64_t base, long memory, uint8_t *slot,
                    struct patch *out, enum wire_left *why)
{
    struct entry e = {.address = base + f->address,
                      .code = patch_code,
                      .size = f->size < sizeof patch_code ? f->size : sizeof patch_code,
                      .cut = f->size > sizeof patch_code,
                      .number = f->number};
    uint64_t trampoline;
    *why = WIRE_LEFT_NEEDED;
    if (e.address == (uintptr_t)libc.find_object) /* a hook inside a hook is recognised by it */
        return false;
    *why = WIRE_LEFT_HOOKED;
    if (is_hooked(e.address))
        return false;
    e.readable = patch_read(memory, e.address, e.size);
    *why = WIRE_LEFT_CHANGED;
    size_t known = e.size < sizeof f->code ? e.size : sizeof f->code;
    if (e.readable < e.size || memcmp(patch_code, f->code, known) != 0)
        return false;
    *why = WIRE_LEFT_CODE;
    out->address = e.address;
    if (allocator_is_near(e.address) && f->number != FILES_CHANGED)
        e.number |= NEAR;
    return entry_make(&e, slot, (uintptr_t)slot, out->bytes, &trampoline);
}

/* --- one file --------------------------------------------------------------------------------- */

static uint8_t *replace_all(const struct link_map *m, const struct wire_function *functions,
                            unsigned count, long memory)
{
    struct patch patches[WIRE_FUNCTIONS_MAX];
    uint64_t numbers[WIRE_FUNCTIONS_MAX];
    unsigned ready = 0;
    struct loaded l;
    uint64_t start = loaded_file_find((uintptr_t)m->l_ld, &l) ? l.start : (uintptr_t)m->l_ld;
    uint8_t *island = memory < 0 ? NULL : patch_island(start, ISLAND);
    for (unsigned i = 0; i < count; i++) {
        enum wire_left why = WIRE_LEFT_REFUSED;
        if (is_taken(m->l_addr + functions[i].address, patches, ready))
            why = WIRE_LEFT_TAKEN;
        else if (island && prepare(&functions[i], m->l_addr, memory, island + ready * ENTRY_SLOT,
                                   &patches[ready], &why)) {
            numbers[ready++] = functions[i].number;
            continue;
        }
        recorder_left_alone(m->l_name, functions[i].number, why);
    }
    bool executable = island && patch_make_executable(island, ISLAND);
    unsigned written = 0;
    for (unsigned i = 0; i < ready; i++)
        if (executable && patch_write(memory, patches[i].address, patches[i].bytes))
            written++;
        else
            recorder_left_alone(m->l_name, numbers[i], WIRE_LEFT_REFUSED);
    if (island && !written)
        sys_call(SYS_munmap, island, (long)ISLAND);
    return written ? island : NULL;
}

/* Neither ourselves nor the loader: both run while a mark is made. */
static bool is_ours(const struct link_map *m)
{
    return (uint64_t)(uintptr_t)m->l_ld - recorder.loader < recorder.loader_size ||
           loaded_file_map((void *)(uintptr_t)mark_on_start) == m;
}

static uint8_t *see_to(const struct link_map *m, bool alone)
{
    struct wire_function functions[WIRE_FUNCTIONS_MAX];
    const char *name = m->l_name ? m->l_name : "";
    unsigned count = is_ours(m) ? 0 : recorder_functions(name, functions);
    uint8_t *island = NULL;
    if (!count)
        return NULL;
    if (alone) {
        long memory = patch_open();
        island = replace_all(m, functions, count, memory);
        patch_close(memory);
    } else {
        for (unsigned i = 0; i < count; i++)
            recorder_left_alone(name, functions[i].number, WIRE_LEFT_THREADS);
    }
    return island;
}

/* --- the loader's list ------------------------------------------------------------------------ */

static struct seen *find_seen(const struct link_map *m)
{
    static unsigned hint; /* the list is mostly in the order in which it was seen */
    for (unsigned k = 0; k < seen_count; k++) {
        struct seen *s = &seen[(hint + k) % seen_count];
        if (s->file == m && s->base == m->l_addr && s->dynamic == m->l_ld) {
            hint = (unsigned)(s - seen) + 1;
            return s;
        }
    }
    return NULL;
}

/* Handles new files. `alone`: nobody can be executing their code. */
static void look_at_files(bool alone)
{
    for (unsigned i = 0; i < seen_count; i++)
        seen[i].there = false;
    for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
        struct seen *s = find_seen(m);
        if (!s && seen_count < FILES) {
            s = &seen[seen_count++];
            *s = (struct seen){.file = m, .base = m->l_addr, .dynamic = m->l_ld};
            s->island = see_to(m, alone);
        }
        if (s)
            s->there = true;
    }
    for (unsigned i = 0; i < seen_count; i++)
        if (!seen[i].there) { /* unloaded: its address may be reused soon */
            if (seen[i].island)
                sys_call(SYS_munmap, seen[i].island, (long)ISLAND);
            seen[i--] = seen[--seen_count];
        }
}

static bool watch_loader(void)
{
    struct wire_function f = {.address = _r_debug.r_brk, .number = FILES_CHANGED};
    struct patch patch;
    enum wire_left why;
    long memory = patch_open();
    uint8_t *island = memory < 0 ? NULL : patch_island(recorder.loader, ISLAND);
    bool done = false;
    if (island && patch_read(memory, f.address, 16) >= 16) {
        f.size = entry_empty(patch_code);
        memcpy(f.code, patch_code, sizeof f.code);
        done = f.size && prepare(&f, 0, memory, island, &patch, &why) &&
               patch_make_executable(island, ISLAND) &&
               patch_write(memory, patch.address, patch.bytes);
    }
    if (island && !done)
        sys_call(SYS_munmap, island, (long)ISLAND);
    patch_close(memory);
    return done;
}

/* Also called when the loader is about to change its list. */
static void files_changed(void)
{
    if (seen)
        look_at_files(true);
    if (tls.busy || _r_debug.r_state != RT_CONSISTENT)
        return;
    tls.busy = (uintptr_t)__builtin_frame_address(0);
    modules_check_loaded();
    tls.busy = 0;
}

void entry_reached(uint64_t number)
{
    if (number != FILES_CHANGED)
        mark_function(number & ~NEAR, number & NEAR);
    else if (atomic_load(&recorder.state) == STATE_LIVE && recorder.pid)
        files_changed();
}

void mark_on_start(void)
{
    static bool tried;
    bool marks = recorder.header->mark_on, walks = !recorder.sample_bytes && !recorder_dormant();
    if (tried || (!marks && (walks || recorder.late)))
        return;
    tried = true;
    if (!marks) {
        if (recorder_is_alone() && entry_can_notify() && watch_loader())
            modules_check_loaded();
        return;
    }
    recorder_own(seen = sys_map(FILES * sizeof *seen), FILES * sizeof *seen);
    if (!seen || !entry_can_notify()) {
        recorder_left_alone("", 0, WIRE_LEFT_REFUSED);
        return;
    }
    bool alone = recorder_is_alone();
    look_at_files(alone);
    if (!alone || !watch_loader())
        recorder_left_alone("", 0, WIRE_LEFT_REFUSED);
}
