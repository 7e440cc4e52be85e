/*
 * Which file an address belongs to, and telling files apart that were at the same addresses at
 * different times.
 *
 * Modules are met when the first return address in them is: no dlopen hook, so $ORIGIN and the
 * caller's search path keep working. After a dlclose everything known is checked again by build id
 * and name; a different file at known addresses gets the next epoch.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>

#include "record/recorder.h"

#define MODULES 8192

struct known {
    uint64_t start, end;
    uint64_t identity; /* of build id and name */
    uint32_t epoch;
    _Atomic uint32_t generation; /* when it was last checked */
};

static struct known *known; /* [MODULES] */
static _Atomic uint32_t known_count;
static _Atomic int known_lock; /* taken for the first address of a module only */

static void lock(void)
{
    while (atomic_exchange_explicit(&known_lock, 1, memory_order_acquire))
        sys_yield();
}

static void unlock(void)
{
    atomic_store_explicit(&known_lock, 0, memory_order_release);
}

void modules_reset(void)
{
    if (!known)
        known = sys_map(MODULES * sizeof *known);
    atomic_store(&known_count, 0);
    atomic_store(&known_lock, 0);
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

/* Tells the collector. Under the lock. */
static void announce(const struct known *k, uint64_t bias, const char *name, const uint8_t *id,
                     unsigned id_size)
{
    struct wire_header *h = recorder.header;
    char path[4096];
    size_t size = strlen(name), used = atomic_load(&h->modules_used);
    if (size && name[0] != '/' && strchr(name, '/')) { /* relative to where we are now */
        long cwd = sys_call(SYS_getcwd, path, sizeof path);
        if (cwd > 1 && (size_t)cwd + size < sizeof path) {
            path[cwd - 1] = '/';
            memcpy(path + cwd, name, size + 1);
            name = path;
            size += (size_t)cwd;
        }
    }
    if (size > 4096)
        size = 4096;
    size_t record = (sizeof(struct wire_module) + size + 7) & ~(size_t)7;
    if (used + record > h->modules_size)
        return; /* its frames will read [unknown]+0x... */
    struct wire_module *m = (void *)((char *)h + h->modules_offset + used);
    *m = (struct wire_module){.start = k->start,
                              .end = k->end,
                              .bias = bias,
                              .epoch = k->epoch,
                              .path_size = (uint16_t)size,
                              .build_id_size = (uint16_t)id_size};
    memcpy(m->build_id, id, id_size);
    memcpy(m + 1, name, size);
    atomic_store_explicit(&h->modules_used, (uint32_t)(used + record), memory_order_release);
}

/* The epoch of the module at [start, end), met now for the first time or after a dlclose. */
static uint32_t module_epoch(const struct dl_find_object *o, uint64_t start, uint64_t end)
{
    uint32_t generation = atomic_load(&recorder.generation);
    uint32_t n = atomic_load_explicit(&known_count, memory_order_acquire);
    for (uint32_t i = n; i-- > 0;)
        if (known[i].start == start && known[i].end == end &&
            atomic_load_explicit(&known[i].generation, memory_order_relaxed) == generation)
            return known[i].epoch;

    uint8_t id[32];
    uint64_t bias = o->dlfo_link_map->l_addr;
    const char *name = o->dlfo_link_map->l_name ? o->dlfo_link_map->l_name : "";
    unsigned id_size = build_id(start, end, bias, id);
    uint64_t identity = mix(mix(UINT64_C(0xcbf29ce484222325), id, id_size), name, strlen(name));
    uint32_t epoch = 0;
    lock();
    n = atomic_load(&known_count);
    for (uint32_t i = n; i-- > 0;) {
        struct known *k = &known[i];
        if (k->start == start && k->end == end && k->identity == identity) {
            atomic_store(&k->generation, generation);
            epoch = k->epoch;
            goto out;
        }
        if (k->start < end &&
            start < k->end) { /* the newest at these addresses: take the next number */
            epoch = k->epoch + 1;
            break;
        }
    }
    if (n < MODULES) {
        known[n] = (struct known){.start = start, .end = end, .identity = identity, .epoch = epoch};
        atomic_store(&known[n].generation, generation);
        announce(&known[n], bias, name, id, id_size);
        atomic_store_explicit(&known_count, n + 1, memory_order_release);
    }
out:
    unlock();
    return epoch;
}

static int own_find(uint64_t address, struct unwind_module *out)
{
    struct dl_find_object o;
    if (_dl_find_object((void *)(uintptr_t)address, &o) != 0)
        return -1;
    uint64_t start = (uint64_t)(uintptr_t)o.dlfo_map_start,
             end = (uint64_t)(uintptr_t)o.dlfo_map_end;
    out->epoch = module_epoch(&o, start, end);
    out->cfi = (struct cfi_section){
        .begin = o.dlfo_map_start, .end = o.dlfo_map_end, .header = o.dlfo_eh_frame};
    return out->cfi.header ? 0 : -1;
}

/* The slow path follows call frame information as the C++ runtime does: what it says is there, is
 * there. */
static int own_read(uint64_t address, uint64_t *out)
{
    if (address < 4096 || address % 8 || address >> 47)
        return -1;
    *out = *(const volatile uint64_t *)(uintptr_t)address;
    return 0;
}

const struct unwind_space own_space = {.find = own_find, .read = own_read};
