/*
 * Merges Python frames with native ones: which call of the evaluation loop ran which Python frame,
 * and which native frames get no node.
 */
#include "record/python.h"
#include "record/stack_tree.h"

#define LOOP_FRAME 4096 /* bytes of stack: a call of the evaluation loop has less */

/* Is the stack up to this frame the one that was merged last? `loop` is where its loop is now. */
static inline bool is_merged(const struct walk *w, const struct python_thread *p, uint32_t i,
                             uint64_t loop)
{
    const struct python_merged *m = &p->merged[i];
    uint32_t native = p->natives[i];
    return m->stack && native && native <= w->count && p->loops[i] == loop &&
           m->native == w->frames[native - 1].id && m->sp == w->frames[0].sp;
}

/*
 * Where on the C stack the evaluation loop is that each entry began, from the innermost frame
 * outwards, up to the first one whose stack was merged last. Returns how many frames, from the
 * outermost, are in that stack: of these, `loops` and `natives` are still right.
 */
static uint32_t find_loops(const struct walk *w, struct python_thread *p)
{
    const struct python_layout *l = &python.layout;
    uint64_t cframe = l->chain == PYTHON_CFRAMES || l->chain == PYTHON_ENTRIES
                          ? python_load(p->state + l->thread_cframe)
                          : 0;
    uint32_t i = p->count;
    for (; i > 0; i--) {
        const struct python_frame *f = &p->remembered[i - 1];
        uint64_t loop = f->entries && l->chain == PYTHON_SHIMS ? f->previous : cframe;
        if (is_merged(w, p, i - 1, loop))
            break;
        p->loops[i - 1] = loop;
        if (f->entries && cframe)
            cframe = python_load(cframe + l->cframe_previous);
    }
    return i;
}

static bool in_loop(uint64_t address)
{
    return (address & WIRE_LOW48) - 1 - python.loop < python.loop_size;
}

static bool runs(const struct walk *w, uint32_t native, uint64_t loop)
{
    if (python.layout.chain == PYTHON_ONE_EACH)
        return in_loop(w->frames[native].address);
    uint64_t end = native ? w->frames[native - 1].sp : w->frames[0].sp + LOOP_FRAME;
    return w->frames[native].sp <= loop && loop < end;
}

/* Of frames that do not tell: the outermost, if native frames were lost there. */
static uint32_t without_loop(const struct walk *w, const struct python_thread *p)
{
    uint32_t loops = 0;
    if (python.layout.chain != PYTHON_ONE_EACH)
        return 0;
    for (uint32_t i = 0; i < w->count; i++)
        loops += in_loop(w->frames[i].address);
    return p->count > loops ? p->count - loops : 0;
}

/* The native frame that this call of the evaluation loop is in, and those further out: how many, at
 * least `native`. */
static uint32_t up_to_loop(const struct walk *w, uint32_t native, uint64_t loop)
{
    for (uint32_t n = native; n < w->count; n++)
        if (runs(w, n, loop))
            return n + 1;
    return native;
}

/* The same for the outermost frame of a chain that was cut: its own call began with a frame that is
 * not remembered. It is further out than those that began later. */
static uint32_t up_to_cut(const struct walk *w, const struct python_thread *p)
{
    uint32_t n = w->count;
    if (p->remembered[0].entries)
        return 0;
    if (p->loops[0])
        return up_to_loop(w, 0, p->loops[0]);
    for (uint32_t i = 1; i < p->count; i++)
        if (p->remembered[i].entries) {
            n = up_to_loop(w, 0, p->loops[i]);
            n -= n != 0;
            break;
        }
    while (n && !in_loop(w->frames[n - 1].address))
        n--;
    return n;
}

/* How many native frames come before each Python frame from `first` on. */
static void find_natives(const struct walk *w, struct python_thread *p, uint32_t first)
{
    uint32_t native = first ? p->natives[first - 1] : p->cut ? up_to_cut(w, p) : 0;
    uint32_t homeless = first ? 0 : without_loop(w, p);
    for (uint32_t i = first; i < p->count; i++) {
        if (p->remembered[i].entries && i >= homeless)
            native = up_to_loop(w, native, p->loops[i]);
        p->natives[i] = native;
    }
}

/* The innermost Python frame and what it called, when there is no memory for the whole stack. */
static __attribute__((noinline, cold)) uint32_t cut_merged(const struct walk *w,
                                                           const struct python_thread *p)
{
    uint64_t frames[STACK_TREE_CUT];
    uint32_t count = 0, i = p->count, first = 0;
    while (i && !p->remembered[i - 1].number)
        i--;
    if (i) {
        const struct python_frame *f = &p->remembered[i - 1];
        frames[count++] = WIRE_PYTHON(f->number, f->line);
        first = p->natives[i - 1];
    }
    if (w->count - first > STACK_TREE_CUT - count)
        first = w->count - (STACK_TREE_CUT - count);
    for (; first < w->count; first++)
        frames[count++] = w->frames[first].address;
    return stack_tree_cut(frames, count);
}

/* Is it the interpreter's own C code, which says how one Python frame came to call the next? */
static bool is_between(uint64_t address)
{
    return (address & WIRE_LOW48) - 1 - python.image < python.image_size;
}

/*
 * How many native frames, from the outermost, are as they were in the stack that was merged last,
 * provided that this had the same Python frames: those up to `native`, which are the stack
 * `caller`.
 */
static uint32_t up_to_change(const struct walk *w, const struct python_thread *p, uint32_t native,
                             uint32_t caller)
{
    uint32_t n = p->tail_end < w->count ? p->tail_end : w->count;
    if (p->tail_caller != caller)
        return native;
    while (n > native && p->tail[n - 1].native != w->frames[n - 1].id)
        n--;
    return n > native ? n : native;
}

/* Remembers the numbers of the native frames from `native` on, which end the path. */
static void keep_tail(struct python_thread *p, const struct walk *w, uint32_t native,
                      const uint32_t *ids)
{
    for (p->tail_end = w->count; native < w->count; native++)
        p->tail[native] = (struct python_tail){w->frames[native].id, *ids++};
    p->tail_caller = p->count ? p->merged[p->count - 1].stack : 0;
}

/*
 * Outermost first: each call of the evaluation loop, then the Python frames that it runs. It goes
 * on from the innermost frame, Python's or native, up to which the last stack was the same. What
 * the interpreter does between two Python frames has no nodes but for the loop: there are many such
 * frames, and the Python frames say the same. Frames of others that lie there have theirs.
 */
uint32_t python_merge(struct thread *t, uint64_t key)
{
    const struct walk *w = &t->walk;
    struct python_thread *p = t->python;
    uint32_t native = 0, caller = 0, n = 0, first = find_loops(w, p);
    find_natives(w, p, first);
    if (first) {
        native = p->natives[first - 1];
        caller = p->merged[first - 1].stack;
    } else if (p->cut || w->root == WALK_TRUNCATED) {
        t->path[n++] = WIRE_NODE_TRUNCATED;
    } else if (w->root == WALK_INCOMPLETE) {
        t->path[n++] = WIRE_NODE_INCOMPLETE;
    }
    for (uint32_t i = first; i < p->count; i++) {
        const struct python_frame *f = &p->remembered[i];
        bool between = i && f->number;
        for (; native < p->natives[i]; native++)
            if (!between || native + 1 == p->natives[i] || !is_between(w->frames[native].address))
                t->path[n++] = w->frames[native].address;
        if (f->number)
            t->path[n++] = WIRE_PYTHON(f->number, f->line);
        p->merged[i] = (struct python_merged){.sp = w->frames[0].sp, .stack = n};
        if (native)
            p->merged[i].native = w->frames[native - 1].id;
    }
    uint32_t tail = first == p->count ? up_to_change(w, p, native, caller) : native;
    if (tail > native) {
        caller = p->tail[tail - 1].stack;
        n = 0;
    }
    for (native = tail; native < w->count; native++)
        t->path[n++] = w->frames[native].address;
    uint32_t number = stack_tree_extend(caller, t->path, n, t->path_ids);
    for (uint32_t i = first; i < p->count; i++) { /* from a place in the path to the number there */
        struct python_merged *m = &p->merged[i];
        m->stack = !number ? 0 : m->stack ? t->path_ids[m->stack - 1] : caller;
    }
    if (UNLIKELY(!number)) {
        p->tail_end = 0;
        return cut_merged(w, p);
    }
    keep_tail(p, w, tail, t->path_ids + n - (w->count - tail));
    python_keep(t, key, number);
    return number;
}
