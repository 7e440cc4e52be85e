#include "record/deepbind.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "machine/relocations.h"
#include "record/find_export.h"
#include "record/other_names.h"
#include "record/loaded_file.h"
#include "record/patch.h"
#include "record/recorder.h"

#define REPORT_MAX 4096
#define MISSED     'm' /* it may have called libc directly before */
#define SEEN       's'

static const char *const names[] = {"malloc",         "free",          "calloc",   "realloc",
                                    "posix_memalign", "aligned_alloc", "memalign", "valloc",
                                    "reallocarray",   "mmap",          "mmap64",   "munmap",
                                    "mremap",         "dlopen",        "dlclose"};
#define NAMES (sizeof names / sizeof *names)

static _Atomic bool waiting;

struct work {
    uint64_t theirs[NAMES], ours[NAMES]; /* the allocator's and libc's; 0: there is none */
    const struct link_map *first;        /* of those that are to be changed; NULL: all */
    bool reached;
    bool alone; /* nobody else defines malloc: what is still to be bound will be bound to that */
    const struct link_map *allocator, *own;
    long memory;
    size_t report_size;
    char report[REPORT_MAX]; /* MISSED or SEEN and the name of each that was changed */
};

/* --- one file --------------------------------------------------------------------------------- */

struct file {
    struct exports exports;
    const ElfW(Rela) * tables[2];
    size_t counts[2];
    size_t constructors;
    uint64_t start, end;
};

static void read_file(struct file *f, const struct dl_phdr_info *info)
{
    struct link_map m = {.l_addr = info->dlpi_addr};
    *f = (struct file){.start = UINT64_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_DYNAMIC)
            m.l_ld = (ElfW(Dyn) *)start;
        if (p->p_type != PT_LOAD)
            continue;
        f->start = start < f->start ? start : f->start;
        f->end = start + p->p_memsz > f->end ? start + p->p_memsz : f->end;
    }
    exports_read(&f->exports, &m);
    for (const ElfW(Dyn) *d = m.l_ld; d && d->d_tag != DT_NULL; d++) {
        uint64_t p = d->d_un.d_ptr < m.l_addr ? d->d_un.d_ptr + m.l_addr : d->d_un.d_ptr;
        if (d->d_tag == DT_RELA)
            f->tables[0] = (const void *)(uintptr_t)p;
        else if (d->d_tag == DT_RELASZ)
            f->counts[0] = d->d_un.d_val / sizeof(ElfW(Rela));
        else if (d->d_tag == DT_JMPREL)
            f->tables[1] = (const void *)(uintptr_t)p;
        else if (d->d_tag == DT_PLTRELSZ)
            f->counts[1] = d->d_un.d_val / sizeof(ElfW(Rela));
        else if (d->d_tag == DT_INIT_ARRAYSZ)
            f->constructors = d->d_un.d_val / sizeof(void *);
    }
}

static bool is_bound(const ElfW(Rela) * r)
{
    uint64_t type = ELF64_R_TYPE(r->r_info);
    return ELF64_R_SYM(r->r_info) && r->r_addend == 0 &&
           (type == RELOC_SLOT || type == RELOC_GLOBAL || type == RELOC_ADDRESS);
}

/* What the slot should contain; 0: it stays. */
static uint64_t better(const struct work *w, const struct file *f, const ElfW(Rela) * r,
                       uint64_t value)
{
    const ElfW(Sym) *symbol = &f->exports.symbols[ELF64_R_SYM(r->r_info)];
    bool unbound = ELF64_R_TYPE(r->r_info) == RELOC_SLOT && value >= f->start && value < f->end &&
                   symbol->st_shndx == SHN_UNDEF && w->alone;
    for (size_t i = 0; i < NAMES; i++)
        if (w->ours[i] && w->theirs[i] && (unbound || value == w->theirs[i]) &&
            strcmp(f->exports.strings + symbol->st_name, names[i]) == 0)
            return w->ours[i];
    return 0;
}

static unsigned rebind_file(const struct work *w, const struct file *f)
{
    unsigned changed = 0;
    for (unsigned k = 0; k < 2; k++)
        for (size_t i = 0; f->tables[k] && f->exports.symbols && i < f->counts[k]; i++) {
            const ElfW(Rela) *r = &f->tables[k][i];
            uint64_t slot = f->exports.base + r->r_offset;
            if (!is_bound(r) || slot % 8 || slot < f->start || slot + 8 > f->end)
                continue;
            uint64_t wanted = better(w, f, r, *(const volatile uint64_t *)(uintptr_t)slot);
            /* Through the kernel: after binding, the slot may be read-only. */
            if (wanted && patch_bytes(w->memory, slot, &wanted, 8, PROT_READ))
                changed++;
        }
    return changed;
}

/* --- all of them ------------------------------------------------------------------------------ */

static bool is_file(const struct dl_phdr_info *info, const struct link_map *m)
{
    return info->dlpi_addr == m->l_addr;
}

static int look_for_others(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct work *w = arg;
    struct file f;
    (void)size;
    if (is_file(info, w->own) || is_file(info, w->allocator) || info->dlpi_addr == recorder.loader)
        return 0;
    read_file(&f, info);
    w->alone = !exports_find(&f.exports, "malloc");
    return !w->alone;
}

static int see_to(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct work *w = arg;
    struct file f;
    (void)size;
    w->reached |= !w->first || is_file(info, w->first);
    if (!w->reached || is_file(info, w->own) || is_file(info, w->allocator) ||
        !info->dlpi_name[0] || info->dlpi_addr == recorder.loader)
        return 0;
    read_file(&f, info);
    size_t length = strlen(info->dlpi_name);
    if (rebind_file(w, &f) && length + 2 <= sizeof w->report - w->report_size) {
        /* Every library has one constructor, which allocates nothing. */
        w->report[w->report_size] = f.constructors > 1 || !w->first ? MISSED : SEEN;
        memcpy(w->report + w->report_size + 1, info->dlpi_name, length + 1);
        w->report_size += length + 2;
    }
    return 0;
}

static bool find_functions(struct work *w)
{
    struct exports theirs, ours;
    void *allocator;
    memcpy(&allocator, &next.malloc, sizeof allocator);
    w->allocator = loaded_file_map(allocator);
    /* Its malloc is reached through code of ours. */
    if (!w->allocator && other_names_taken_over()) {
        memcpy(&allocator, &next.allocator, sizeof allocator);
        w->allocator = loaded_file_map(allocator);
    }
    w->own = loaded_file_map(names);
    if (!w->allocator || !w->own)
        return false;
    exports_read(&theirs, w->allocator);
    exports_read(&ours, w->own);
    for (size_t i = 0; i < NAMES; i++) {
        const ElfW(Sym) *a = exports_find(&theirs, names[i]), *b = exports_find(&ours, names[i]);
        w->theirs[i] = a ? theirs.base + a->st_value : 0;
        w->ours[i] = b ? ours.base + b->st_value : 0;
    }
    return true;
}

void rebind(void *handle)
{
    struct work w = {.first = handle, .alone = true};
    if (atomic_load(&recorder.state) != STATE_LIVE || !find_functions(&w))
        return;
    w.memory = patch_open();
    if (w.memory == -EBUSY)
        rebind_later();
    if (w.memory < 0)
        return;
    dl_iterate_phdr(look_for_others, &w);
    dl_iterate_phdr(see_to, &w);
    patch_close(w.memory);
    for (size_t at = 0; at < w.report_size; at += strlen(w.report + at) + 1)
        recorder_bound(w.report + at + 1, w.report[at] == MISSED);
}

void rebind_later(void)
{
    atomic_store(&waiting, true);
}

void rebind_now(void)
{
    if (atomic_load_explicit(&waiting, memory_order_relaxed) && atomic_exchange(&waiting, false))
        rebind(NULL);
}
