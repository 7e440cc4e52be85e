#include "record/gpu.h"

#include <string.h>
#include <sys/syscall.h>

#include "record/find_export.h"
#include "record/loaded_file.h"
#include "record/patch.h"
#include "record/recorder.h"

void *gpu_next[GPU_FUNCTIONS];

#define DECLARE(name)                                                                              \
    extern const char hook_##name[] __asm__("gpu_hook_" #name)                                     \
        __attribute__((visibility("hidden")));
GPU_DRIVER_FUNCTIONS(DECLARE)
GPU_TENSOR_FUNCTIONS(DECLARE)

#define FUNCTION(n) [GPU_##n] = {.name = #n, .hook = hook_##n},
static struct patched functions[GPU_FUNCTIONS] = {GPU_DRIVER_FUNCTIONS(FUNCTION)
                                                      GPU_TENSOR_FUNCTIONS(FUNCTION)};

/* A file is one of these if it exports the first or the last of the functions. The driver also has
 * its name. */
static struct library {
    enum wire_gpu bit;
    struct patched *functions;
    size_t count;
    enum { UNTRIED, TAKEN, REFUSED } state;
} libraries[] = {
    {WIRE_GPU_DRIVER, functions, GPU_cuMemRelease + 1, UNTRIED},
    {WIRE_GPU_TENSORS, functions + GPU_cuMemRelease + 1, GPU_FUNCTIONS - GPU_cuMemRelease - 1,
     UNTRIED},
};
#define LIBRARIES (sizeof libraries / sizeof *libraries)

static const struct patched *first_of(const struct library *lib)
{
    const struct patched *f = lib->functions;
    while (f < lib->functions + lib->count && !f->address)
        f++;
    return f < lib->functions + lib->count ? f : NULL;
}

/* Is the file still there that was patched? */
static bool is_patched(const struct library *lib)
{
    const struct patched *f = first_of(lib);
    return f && loaded_file_map((const void *)(uintptr_t)f->address) &&
           memcmp((const void *)(uintptr_t)f->address, f->patch, sizeof f->patch) == 0;
}

static bool find_functions(struct library *lib, const struct exports *x)
{
    bool found = false;
    for (struct patched *f = lib->functions; f < lib->functions + lib->count; f++) {
        const ElfW(Sym) *s = exports_find(x, f->name);
        bool usable = s && ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_size;
        f->address = usable ? x->base + s->st_value : 0;
        f->size = usable ? s->st_size : 0;
        f->trampoline = 0;
        found |= usable;
    }
    return found;
}

static bool take_over(struct library *lib)
{
    struct loaded l;
    const struct patched *near = first_of(lib);
    long memory = near ? patch_open() : -1;
    if (memory < 0)
        return false;
    /* The loader may not have registered the file yet. */
    uint64_t start = loaded_file_find(near->address, &l) ? l.start : near->address;
    bool done = patch_all(lib->functions, lib->count, start, memory);
    patch_close(memory);
    for (const struct patched *f = lib->functions; done && f < lib->functions + lib->count; f++)
        memcpy(&gpu_next[f - functions], &f->trampoline, sizeof f->trampoline);
    return done;
}

static void announce(const struct library *lib)
{
    atomic_fetch_or(lib->state == TAKEN ? &recorder.header->gpu_hooked
                                        : &recorder.header->gpu_refused,
                    (uint32_t)lib->bit);
}

/* Other files that have some of these names call the driver, or nothing at all. */
static bool is_driver(const struct link_map *m, const struct exports *x)
{
    static const char name[] = "libcuda.so";
    const char *own = x->strings && x->own_name ? x->strings + x->own_name : "";
    const char *path = m->l_name ? m->l_name : "", *slash = strrchr(path, '/');
    return strncmp(own, name, sizeof name - 1) == 0 ||
           strncmp(slash ? slash + 1 : path, name, sizeof name - 1) == 0;
}

static void check(const struct link_map *m, bool may_patch)
{
    struct exports x;
    exports_read(&x, m);
    for (struct library *lib = libraries; lib < libraries + LIBRARIES; lib++) {
        if (!exports_find(&x, lib->functions[0].name) &&
            !exports_find(&x, lib->functions[lib->count - 1].name))
            continue;
        if (lib->bit == WIRE_GPU_DRIVER && !is_driver(m, &x))
            continue;
        /* Another file may have the same functions and call this one's. After an attach, the tool
         * writes the patches. */
        bool taken = lib->state == TAKEN && (recorder.late || is_patched(lib));
        if (!taken)
            lib->state = may_patch && find_functions(lib, &x) && take_over(lib) ? TAKEN : REFUSED;
        announce(lib);
    }
}

void gpu_reset(void)
{
    for (const struct library *lib = libraries; lib < libraries + LIBRARIES; lib++)
        if (lib->state == TAKEN)
            announce(lib);
}

void gpu_check_file(const struct link_map *m)
{
    check(m, !recorder.late);
}

/* New files come at the end of the list. */
void gpu_check_loaded(void)
{
    static struct link_map last; /* a copy: the file may have been unloaded */
    static const struct link_map *last_at;
    const struct link_map *m = _r_debug.r_map, *new = m;
    for (; m; m = m->l_next)
        if (m == last_at && m->l_addr == last.l_addr && m->l_ld == last.l_ld)
            new = m->l_next;
    for (m = new; m; m = m->l_next) {
        gpu_check_file(m);
        last = *m;
        last_at = m;
    }
}

void gpu_take_over_loaded(void)
{
    for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
        check(m, true);
}
