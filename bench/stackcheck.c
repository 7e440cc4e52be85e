/*
 * Compares the recorder's walk with an independent one, inside a program: bench/check_stacks.py
 * preloads this.
 *
 * Every allocation is walked as the recorder does it (src/unwind/walk.h), so that what is
 * remembered from one to the next is tried too; a random one of STACKCHECK_EVERY is also walked by
 * libgcc's unwinder, which reads .eh_frame anew for each frame and remembers nothing. The counts go
 * to a mapped file (STACKCHECK_FILE), so that they are there however the program ends; the first
 * differences go beside it, as text.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include "machine/caller.h"
#include "machine/registers.h"
#include "record/loaded_file.h"
#include "unwind/walk.h"

/* An address of the walk has the module epoch in its high 16 bits. */
#define PC(address) ((address) & ((UINT64_C(1) << 48) - 1))

enum { MAX_FRAMES = WALK_FRAMES + 64, MAX_SHOWN = 40 };

/* Laid out as check_stacks.py reads it. */
struct counts {
    _Atomic uint64_t allocations, compared, identical, shortened, walked, verified, frames, shown;
};

/* The memory of the walk follows it, and begins at a multiple of 64. */
struct state {
    _Alignas(64) struct walk walk;
    uint64_t random;
    int busy;
    uint64_t independent[MAX_FRAMES];
};

static struct counts *counts;
static struct rules *rules;
static uint64_t every;
static char shown_path[4096];
static __thread struct state *state __attribute__((tls_model("initial-exec")));
static __thread int starting __attribute__((tls_model("initial-exec")));
static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static _Alignas(16) char early[65536]; /* for dlsym, before calloc is known */
static size_t early_used;

static int find(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    (void)self;
    struct loaded file;

    if (!loaded_file_find(address, &file) || !file.tables.header)
        return -1;
    *out = (struct unwind_module){.cfi = file.tables};
    return 0;
}

static int read_word(const struct unwind_space *self, uint64_t address, uint64_t *out)
{
    (void)self;
    if (address < 4096 || address % 8 || address >> ARCH_ADDRESS_BITS)
        return -1;
    *out = *(const volatile uint64_t *)address;
    return 0;
}

static enum step_call call_at(const struct unwind_space *self, uint64_t address, uint64_t callee)
{
    (void)self;
    struct call_site site;
    return loaded_file_call_site(address, NULL, &site) ? call_site_seen_from(&site, callee)
                                                       : CALL_NONE;
}

static const struct unwind_space space = {.find = find, .read = read_word, .call = call_at};

static void *map_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void start_process(void)
{
    const char *path = secure_getenv("STACKCHECK_FILE"), *rate = secure_getenv("STACKCHECK_EVERY");

    next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    every = rate ? strtoull(rate, NULL, 10) : 1;
    if (!path || !(rules = map_memory(sizeof(*rules))))
        return;
    snprintf(shown_path, sizeof(shown_path), "%s.differences", path);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    void *area = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (area != MAP_FAILED)
        counts = area;
}

static struct state *this_thread(void)
{
    if (starting)
        return NULL;
    if (!state) {
        starting = 1;
        if (!next_malloc)
            start_process();
        if (counts && (state = map_memory(sizeof(*state) + WALK_BYTES))) {
            walk_init(&state->walk, state + 1);
            state->random = 88172645463325252u ^ (uint64_t)state;
        }
        starting = 0;
    }
    return state;
}

struct collection {
    uint64_t *frames;
    size_t count;
};

static _Unwind_Reason_Code collect(struct _Unwind_Context *context, void *argument)
{
    struct collection *c = argument;
    int before = 0;
    uint64_t pc = _Unwind_GetIPInfo(context, &before);

    if (c->count == MAX_FRAMES || !pc)
        return _URC_END_OF_STACK;
    /* Where a signal interrupted: the walk keeps pc + 1, so that pc - 1 is in the right function
     * there too. */
    c->frames[c->count++] = pc + (before ? 1 : 0);
    return _URC_NO_REASON;
}

static void describe(FILE *out, uint64_t address)
{
    Dl_info info = {0};

    dladdr((void *)(address - 1), &info);
    fprintf(out, "%s+0x%lx %s", info.dli_fname ? info.dli_fname : "?",
            (unsigned long)(address - (uint64_t)info.dli_fbase),
            info.dli_sname ? info.dli_sname : "?");
}

static void show(struct state *s, const uint64_t *other, size_t other_count)
{
    const struct walk *w = &s->walk;
    size_t same = 0;

    if (counts->shown++ >= MAX_SHOWN)
        return;
    FILE *out = fopen(shown_path, "ae");
    if (!out)
        return;
    while (same < w->count && same < other_count &&
           PC(w->frames[w->count - 1 - same].address) == other[same])
        same++;
    fprintf(out, "walk %u frames, independent %zu, the first %zu the same, root %d\n", w->count,
            other_count, same, (int)w->root);
    for (size_t i = same ? same - 1 : 0; i < same + 3; i++) {
        fprintf(out, "  frame %zu\n    walk        ", i);
        if (i < w->count)
            describe(out, PC(w->frames[w->count - 1 - i].address));
        fprintf(out, "\n    independent ");
        if (i < other_count)
            describe(out, other[i]);
        fputc('\n', out);
    }
    fclose(out);
}

/* The frames of the walk, innermost first, against the independent ones. */
static void compare(struct state *s, uint64_t pc, int leaf_differs)
{
    const struct walk *w = &s->walk;
    struct collection c = {.frames = s->independent};

    _Unwind_Backtrace(collect, &c);
    size_t first = 0;
    while (first < c.count && c.frames[first] != pc) /* our own frames */
        first++;
    const uint64_t *other = c.frames + first;
    size_t other_count = c.count - first;

    counts->compared++;
    counts->frames += w->count;
    bool same = w->root == WALK_TRUNCATED ? other_count >= w->count : other_count == w->count;
    for (size_t i = 0; same && i < w->count; i++)
        same = PC(w->frames[w->count - 1 - i].address) == other[i];
    if (w->root == WALK_TRUNCATED)
        counts->shortened++;
    same = same && !leaf_differs;
    if (same)
        counts->identical++;
    else
        show(s, other, other_count);
}

/* A number for each stack, as the recorder has one: here a hash of its addresses. */
static void name_frames(struct walk *w)
{
    uint32_t id = w->fresh ? w->frames[w->fresh - 1].id : (uint32_t)w->root + 1;

    for (uint32_t i = w->fresh; i < w->count; i++) {
        id = (uint32_t)((id ^ w->frames[i].address) * UINT64_C(0x9e3779b97f4a7c15) >> 32) | 1;
        w->frames[i].id = id;
    }
}

/* Not inlined: `own` is the frame of the hook, from which its caller is found. */
static __attribute__((noinline)) void check(struct state *s, const uint64_t *own)
{
    struct walk *w = &s->walk;
    const uint64_t pc = CALLER_PC(own), sp = CALLER_SP(own), fp = CALLER_FP(own);
    uint64_t walked = w->walked, verified = w->verified;

    if (s->busy)
        return;
    s->busy = 1;
    counts->allocations++;
    if (every) {
        const struct walk_leaf *known = walk_leaf_find(w, pc, sp, fp);
        uint64_t leaf = known ? known->id : 0;

        s->random ^= s->random << 13;
        s->random ^= s->random >> 7;
        s->random ^= s->random << 17;
        int sampled = s->random % every == 0;
        if (!leaf || sampled) { /* as the recorder does, which trusts a leaf */
            w->stack_end = ARCH_BIT(ARCH_ADDRESS_BITS);
            walk_stack(w, rules, &space, pc, sp, fp);
            name_frames(w);
            if (!leaf)
                walk_keep_leaf(w);
        }
        counts->walked += w->walked - walked;
        counts->verified += w->verified - verified;
        if (sampled)
            compare(s, pc, leaf && leaf != w->frames[w->count - 1].id);
    }
    s->busy = 0;
}

#define CHECK()                                                                                    \
    do {                                                                                           \
        if (s)                                                                                     \
            check(s, OWN_FRAME());                                                                 \
    } while (0)

void *malloc(size_t size)
{
    struct state *s = this_thread();
    void *block = next_malloc(size);

    CHECK();
    return block;
}

void *realloc(void *old, size_t size)
{
    struct state *s = this_thread();
    void *block = next_realloc(old, size);

    CHECK();
    return block;
}

void *calloc(size_t count, size_t size)
{
    struct state *s = this_thread();

    if (!next_calloc) {
        void *block = early + early_used;

        early_used += (count * size + 15) & ~(size_t)15;
        return block;
    }
    void *block = next_calloc(count, size);
    CHECK();
    return block;
}

/* Code went away; what was learnt of its addresses is no longer true. */
int dlclose(void *handle)
{
    int (*next)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    int result = next(handle);

    if (rules)
        rules_forget(rules);
    if (state)
        walk_forget(&state->walk);
    return result;
}
