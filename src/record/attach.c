#include "record/attach.h"

#include <link.h>
#include <string.h>
#include <sys/syscall.h>

#include "record/find_export.h"
#include "record/gpu.h"
#include "record/libc.h"
#include "record/loaded_file.h"
#include "record/recorder.h"
#include "wire/attach.h"

EXPORT int tidemark_attach(const struct wire_attach *session);
EXPORT int tidemark_detached(void);
EXPORT struct wire_attached tidemark_attached = {
    .magic = WIRE_ATTACH_MAGIC, .version = WIRE_VERSION, .patch_size = ENTRY_PATCH};
static_assert(ENTRY_PATCH <= WIRE_PATCH_BYTES, "wire ABI");
/* Our own references to it must not lead elsewhere. */
extern struct wire_attached table __attribute__((alias("tidemark_attached"), visibility("hidden")));

/* The library is in a memory file that the tool made, in a program that never saw the library's own
 * file. */
bool attach_is_late(void)
{
    static const char folder[] = "/proc/";
    const struct link_map *own = loaded_file_map(&table);
    return own && strncmp(own->l_name, folder, sizeof folder - 1) == 0;
}

static bool is_listed(uint64_t address)
{
    for (uint32_t i = 0; i < table.count; i++)
        if (table.patches[i].address == address)
            return true;
    return false;
}

bool attach_list(const struct patched *functions, size_t count)
{
    uint32_t before = table.count;
    for (const struct patched *f = functions; f < functions + count; f++) {
        if (!f->address || is_listed(f->address))
            continue;
        if (table.count == WIRE_ATTACH_PATCHES) {
            table.count = before;
            return false;
        }
        struct wire_patch *p = &table.patches[table.count++];
        p->address = f->address;
        memcpy(p->before, f->before, ENTRY_PATCH);
        memcpy(p->patch, f->patch, ENTRY_PATCH);
    }
    return true;
}

/* --- calls within libc ------------------------------------------------------------------------ */

static struct {
    uint64_t low, high;               /* libc's file */
    uint64_t malloc_low, malloc_high; /* the part of it that allocates; empty: another one does */
    uint64_t loader_low, loader_high;
} code;

bool attach_from_libc(uint64_t pc)
{
    return pc - code.low < code.high - code.low ||
           pc - code.loader_low < code.loader_high - code.loader_low;
}

bool attach_from_malloc(uint64_t pc)
{
    return pc - code.malloc_low < code.malloc_high - code.malloc_low;
}

/*
 * The linker puts the functions of one source file next to each other. What malloc.c exports is
 * known by name; what it does not export is between these or just beside them, up to the next
 * function that libc exports.
 */
static void find_malloc_code(const struct exports *x, uint64_t low, uint64_t high)
{
    static const char *const names[] = {
        "malloc",       "free",        "calloc",   "realloc",        "memalign",
        "valloc",       "pvalloc",     "mallinfo", "posix_memalign", "aligned_alloc",
        "malloc_stats", "malloc_trim", "mallopt",  "malloc_info",    "malloc_usable_size"};
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const ElfW(Sym) *s = exports_find(x, names[i]);
        if (!s)
            continue;
        uint64_t start = x->base + s->st_value;
        first = start < first ? start : first;
        last = start + s->st_size > last ? start + s->st_size : last;
    }
    if (first >= last || last - first > (1u << 17))
        return;
    uint64_t below = low, above = high;
    uint32_t count = exports_count(x);
    for (uint32_t i = 1; i < count; i++) {
        const ElfW(Sym) *s = &x->symbols[i];
        uint64_t start = x->base + s->st_value, end = start + s->st_size;
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF)
            continue;
        if (end <= first && end > below)
            below = end;
        if (start >= last && start < above)
            above = start;
    }
    code.malloc_low = below;
    code.malloc_high = above;
}

/* --- functions besides malloc's --------------------------------------------------------------- */

#define FUNCTIONS(F)                                                                               \
    F(mmap, entry_mmap)                                                                            \
    F(munmap, entry_munmap)                                                                        \
    F(mremap, entry_mremap)                                                                        \
    F(fork, own_fork)                                                                              \
    F(exit, own_exit)                                                                              \
    F(_exit, own__exit)                                                                            \
    F(prctl, own_prctl)                                                                            \
    F(mlockall, own_mlockall)                                                                      \
    F(sigaction, own_sigaction)

#define DECLARE(name, symbol)                                                                      \
    extern const char hook_##name[] __asm__(#symbol) __attribute__((visibility("hidden")));
FUNCTIONS(DECLARE)

static struct patched others[] = {
#define PATCHED(n, symbol) {.name = #n, .hook = hook_##n},
    FUNCTIONS(PATCHED)};

static const size_t next_of[] = {
#define NEXT_OF(n, symbol) offsetof(struct next, n),
    FUNCTIONS(NEXT_OF)};

/* Each on its own: a function that cannot be replaced is not hooked. All are libc's. */
void attach_take_over(void)
{
    struct exports x;
    struct loaded libcs, loader;
    static bool tried;
    void *f;
    if (tried)
        return;
    tried = true;
    memcpy(&f, &next.syscall, sizeof f);
    if (!loaded_file_find((uintptr_t)f, &libcs))
        return;
    code.low = libcs.start;
    code.high = libcs.end;
    if (loaded_file_find((uintptr_t)&_r_debug, &loader)) {
        code.loader_low = loader.start;
        code.loader_high = loader.end;
    }
    exports_read(&x, libcs.map);
    if (own_malloc_took((uintptr_t)libc_default("malloc")) &&
        loaded_file_map(libc_default("malloc")) == libcs.map)
        find_malloc_code(&x, libcs.start, libcs.end);
    long memory = patch_open();
    for (size_t i = 0; memory >= 0 && i < sizeof others / sizeof *others; i++) {
        const ElfW(Sym) *s = exports_find(&x, others[i].name);
        if (!s || ELF64_ST_TYPE(s->st_info) != STT_FUNC || !s->st_size)
            continue;
        others[i].address = x.base + s->st_value;
        others[i].size = s->st_size;
        if (patch_all(&others[i], 1, libcs.start, memory))
            memcpy((char *)&next + next_of[i], &others[i].trampoline, sizeof(void *));
        else
            others[i].address = 0;
    }
    patch_close(memory);
    gpu_take_over_loaded();
}

/* --- functions that the tool calls ------------------------------------------------------------ */

static int begin(const struct wire_attach *s)
{
    if (!recorder_find_next())
        return WIRE_ATTACH_NO_MALLOC;
    own_malloc_take_over();
    if (!own_malloc_taken_over())
        return WIRE_ATTACH_CODE;
    return recorder_attach(s->socket, s->key, s->drop) ? 0 : WIRE_ATTACH_COLLECTOR;
}

int tidemark_attach(const struct wire_attach *session)
{
    struct wire_attach s = *session;
    char *thread = __builtin_thread_pointer();
    if (s.library_fd >= 0)
        sys_call(SYS_close, (long)s.library_fd);
    if (table.live)
        return WIRE_ATTACH_BUSY;
    s.socket[sizeof s.socket - 1] = s.key[WIRE_KEY_SIZE] = '\0';
    table.session = s;
    table.thread_offset = (char *)&tls.thread - thread;
    table.busy_offset = (char *)&tls.busy - thread;
    tls.busy = (uintptr_t)__builtin_frame_address(0);
    int failure = begin(&s);
    tls.busy = 0;
    table.live = !failure;
    return failure;
}

/* The tool has made sure that no thread is in a hook, and that none knows its state here. */
int tidemark_detached(void)
{
    recorder_leave();
    table.live = 0;
    memset(&table.session, 0, sizeof table.session);
    return 0;
}
