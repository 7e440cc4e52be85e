/*
 * Which file an address belongs to, and distinguishing files that were at the same addresses at
 * different times.
 *
 * A module becomes known when the first return address in it is seen: there is no dlopen hook for
 * this, so $ORIGIN and the caller's search path keep working. After a dlclose everything known is
 * checked again by build id and name; a different file at known addresses gets the next epoch.
 *
 * libc also unloads what it loaded itself (character sets, name services), which passes no hook.
 * But new code can come to old addresses only through the loader, which allocates for every file
 * that it loads, before it runs any of it. So when the loader allocates, all known modules are
 * checked (loaded_file_find takes no lock of ours).
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>

#include "record/gpu.h"
#include "record/loaded_file.h"
#include "record/loader_list.h"
#include "record/python.h"
#include "record/recorder.h"

#define MODULES      8192
#define PROVEN_PAGES 1024   /* pages of code that could be read lately */
#define LAST_EPOCH   0xfffu /* more do not fit into a rule: all later files have it, and no name */

struct known {
    uint64_t start, end;
    uint64_t identity; /* of build id and name */
    uint32_t epoch;
    _Atomic uint32_t generation; /* when it was last checked; GONE: it was found to be unloaded */
};
#define GONE UINT32_MAX

static struct known *known; /* [MODULES] */
static _Atomic uint32_t known_count;
static struct spin known_lock; /* taken only for the first address of a module */

bool modules_reset(void)
{
    struct loaded l;
    if (!known)
        recorder_own(known = sys_map(MODULES * sizeof *known), MODULES * sizeof *known);
    if (!known)
        return false;
    atomic_store(&known_count, 0);
    spin_reset(&known_lock);
    if (loaded_file_find((uintptr_t)&_r_debug, &l)) {
        recorder.loader = l.start;
        recorder.loader_size = l.end - l.start;
    }
    return true;
}

void modules_recover(void)
{
    spin_recover(&known_lock);
    loader_list_recover();
}

bool modules_held(void)
{
    return atomic_load_explicit(&known_lock.holder, memory_order_relaxed) == (uintptr_t)&tls;
}

void modules_forget(void)
{
    loader_list_changes();
    atomic_fetch_add(&recorder.generation, 1);
    python_forget();
    rules_forget(recorder.rules);
}

static bool is_gone(const struct known *k, uint32_t *generation)
{
    *generation = atomic_load_explicit(&k->generation, memory_order_acquire);
    return *generation != GONE && !loaded_file_begins_at(k->start);
}

/* Marked only when everything is forgotten: another thread that finds the mark, and loads something
 * at the same place, relies on that. */
void modules_check(struct thread *t)
{
    uint32_t n = atomic_load_explicit(&known_count, memory_order_acquire), i = 0, seen;
    loader_list_changes();
    while (i < n && !is_gone(&known[i], &seen))
        i++;
    if (i == n)
        return;
    modules_forget();
    note_unload(t);
    for (; i < n; i++)
        if (is_gone(&known[i], &seen)) /* unless it is back and was seen again */
            atomic_compare_exchange_strong(&known[i].generation, &seen, GONE);
}

/* The build id note of a mapped file, from its program headers in memory. */
static unsigned build_id(uint64_t start, uint64_t end, uint64_t bias, uint8_t out[32])
{
    const ElfW(Ehdr) *file = (const void *)(uintptr_t)start;
    if (end - start < sizeof *file || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
        file->e_phentsize != sizeof(ElfW(Phdr)) ||
        file->e_phoff + (uint64_t)file->e_phnum * sizeof(ElfW(Phdr)) > end - start)
        return 0;
    const ElfW(Phdr) *segment = (const void *)(uintptr_t)(start + file->e_phoff);
    for (unsigned i = 0; i < file->e_phnum; i++) {
        if (segment[i].p_type != PT_NOTE)
            continue;
        uint64_t at = bias + segment[i].p_vaddr, stop = at + segment[i].p_memsz;
        if (at < start || stop > end)
            continue;
        while (at + sizeof(ElfW(Nhdr)) <= stop) {
            const ElfW(Nhdr) *note = (const void *)(uintptr_t)at;
            uint64_t name = at + sizeof *note, data = name + ((note->n_namesz + 3) & ~3u);
            if (data + note->n_descsz > stop)
                break;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && note->n_descsz <= 32 &&
                memcmp((const void *)(uintptr_t)name, "GNU", 4) == 0) {
                memcpy(out, (const void *)(uintptr_t)data, note->n_descsz);
                return note->n_descsz;
            }
            at = data + ((note->n_descsz + 3) & ~3u);
        }
    }
    return 0;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Reports it to the collector. Call it with the lock. */
static void announce(const struct known *k, uint64_t bias, const char *name, const uint8_t *id,
                     unsigned id_size)
{
    struct wire_header *h = recorder.header;
    size_t size = strlen(name), used = atomic_load(&h->modules_used), before = 0;
    struct wire_module *m = (void *)((char *)h + h->modules_offset + used);
    if (size > 4096)
        size = 4096;
    if (used + sizeof *m + 2 * 4096 > h->modules_size)
        return;                   /* its frames will read [unknown]+0x... */
    char *path = (char *)(m + 1); /* made in place: the program's stack may be small */
    if (size && name[0] != '/' && strchr(name, '/')) { /* relative to the present folder */
        long cwd = sys_call(SYS_getcwd, path, 4096L);
        if (cwd > 1 && (size_t)cwd + size < 4096) {
            path[cwd - 1] = '/';
            before = (size_t)cwd;
        }
    }
    memcpy(path + before, name, size);
    size += before;
    size_t record = (sizeof *m + size + 7) & ~(size_t)7;
    *m = (struct wire_module){.start = k->start,
                              .end = k->end,
                              .bias = bias,
                              .epoch = k->epoch,
                              .path_size = (uint16_t)size,
                              .build_id_size = (uint16_t)id_size};
    memcpy(m->build_id, id, id_size);
    atomic_store_explicit(&h->modules_used, (uint32_t)(used + record), memory_order_release);
}

/* The epoch of a module that is seen for the first time, or again after a dlclose. */
static uint32_t module_epoch(const struct loaded *l)
{
    uint64_t start = l->start, end = l->end;
    uint32_t generation = atomic_load(&recorder.generation);
    uint32_t n = atomic_load_explicit(&known_count, memory_order_acquire);
    for (uint32_t i = n; i-- > 0;)
        if (known[i].start == start && known[i].end == end &&
            atomic_load_explicit(&known[i].generation, memory_order_relaxed) == generation)
            return known[i].epoch;

    uint8_t id[32];
    uint64_t bias = l->map->l_addr;
    const char *name = l->map->l_name ? l->map->l_name : "";
    unsigned id_size = build_id(start, end, bias, id);
    uint64_t identity = mix(mix(UINT64_C(0xcbf29ce484222325), id, id_size), name, strlen(name));
    uint32_t epoch = 0;
    spin_lock(&known_lock);
    n = atomic_load(&known_count);
    for (uint32_t i = n; i-- > 0;) {
        struct known *k = &known[i];
        if (k->start == start && k->end == end && k->identity == identity) {
            atomic_store(&k->generation, generation);
            epoch = k->epoch;
            goto out;
        }
        /* A number that nothing had at any of these addresses, so that it stays valid for ever. */
        if (k->start < end && start < k->end && k->epoch >= epoch)
            epoch = k->epoch + 1;
    }
    if (epoch > LAST_EPOCH)
        epoch = LAST_EPOCH;
    if (n < MODULES) {
        known[n] = (struct known){.start = start, .end = end, .identity = identity, .epoch = epoch};
        atomic_store(&known[n].generation, generation);
        if (epoch < LAST_EPOCH)
            announce(&known[n], bias, name, id, id_size);
        atomic_store_explicit(&known_count, n + 1, memory_order_release);
    }
out:
    python_check_file(l->map);
    gpu_check_file(l->map);
    spin_unlock(&known_lock);
    return epoch;
}

void modules_check_python(const struct link_map *m)
{
    spin_lock(&known_lock);
    python_check_file(m);
    spin_unlock(&known_lock);
}

void modules_check_loaded(void)
{
    spin_lock(&known_lock);
    gpu_check_loaded();
    spin_unlock(&known_lock);
}

/* Without an epoch, and so without a lock. */
static int quiet_find(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    (void)self;
    struct loaded l;
    if (!loaded_file_find(address, &l))
        return -1;
    *out =
        (struct unwind_module){.cfi = l.tables, .code_start = l.code_start, .code_end = l.code_end};
    return out->cfi.header ? 0 : -1;
}

static int own_find(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    (void)self;
    struct loaded l;
    if (!loaded_file_find(address, &l))
        return -1;
    *out = (struct unwind_module){.cfi = l.tables,
                                  .epoch = module_epoch(&l),
                                  .code_start = l.code_start,
                                  .code_end = l.code_end};
    return out->cfi.header ? 0 : -1;
}

/* The kernel copies the set of signals before it finds that the operation is invalid. If the kernel
 * may not be asked, nothing is proven. */
static bool own_readable(const struct unwind_space *self, uint64_t address)
{
    (void)self;
    return sys_call(SYS_rt_sigprocmask, -1L, address, 0L, 8L) == -EINVAL;
}

/*
 * The same for the code of a file, which can nearly always be read: so it counts as readable if the
 * kernel may not be asked. An answer holds for an era, because asking takes longer than all else.
 */
static bool own_code_readable(uint64_t address)
{
    static _Atomic uint64_t proven[PROVEN_PAGES]; /* era | number of the page */
    const struct wire_header *h = recorder.header;
    uint64_t page = address >> 12,
             era = h ? atomic_load_explicit(&h->era, memory_order_relaxed) : 0;
    _Atomic uint64_t *place = &proven[page % PROVEN_PAGES];
    if (atomic_load_explicit(place, memory_order_relaxed) == (era << 36 | page))
        return true;
    if (sys_call(SYS_rt_sigprocmask, -1L, address & ~UINT64_C(7), 0L, 8L) == -EFAULT)
        return false;
    atomic_store_explicit(place, era << 36 | page, memory_order_relaxed);
    return true;
}

static enum step_call own_call(const struct unwind_space *self, uint64_t address, uint64_t callee)
{
    (void)self;
    struct call_site site;
    return loaded_file_call_site(address, own_code_readable, &site)
               ? call_site_seen_from(&site, callee)
               : CALL_NONE;
}

static bool own_call_site(const struct unwind_space *self, uint64_t address, struct call_site *out)
{
    (void)self;
    return loaded_file_call_site(address, own_code_readable, out);
}

const struct unwind_space own_space = {.find = own_find,
                                       .read = unwind_read_own,
                                       .readable = own_readable,
                                       .call = own_call,
                                       .call_site = own_call_site};
const struct unwind_space quiet_space = {
    .find = quiet_find, .read = unwind_read_own, .readable = own_readable, .call = own_call};
