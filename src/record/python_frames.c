/*
 * Reads the chain of Python frames of a thread, and reuses those that have not changed. python.h
 * describes it; python_layout.c has the offsets.
 */
#include "record/libc.h"
#include "record/python.h"

#include <pthread.h>

static inline uint64_t innermost_of(uint64_t state)
{
    const struct python_layout *l = &python.layout;
    if (l->thread_frame)
        return python_load(state + l->thread_frame);
    uint64_t cframe = python_load(state + l->thread_cframe);
    return cframe ? python_load(cframe + l->cframe_frame) : 0;
}

static inline bool is_shim(uint64_t frame)
{
    return python_load_byte(frame + python.layout.frame_owner) >= PYTHON_OWNED_BY_C;
}

/* Is it the shim below all others, which no call made? It ends the chain. */
static inline bool is_base(uint64_t frame)
{
    return python.layout.base_frame && frame && is_shim(frame) &&
           !python_load(frame + python.layout.frame_previous);
}

/* From a frame's `previous` to one that is a function's. */
static inline uint64_t skip_shims(uint64_t frame, uint32_t *shims)
{
    *shims = 0;
    while (frame && is_shim(frame)) {
        if (UNLIKELY(is_base(frame)))
            return 0;
        frame = python_load(frame + python.layout.frame_previous);
        ++*shims;
    }
    return frame;
}

static inline uint64_t code_of(uint64_t frame)
{
    return PYTHON_REFERENCE(python_load(frame + python.layout.frame_code));
}

/* Is that the next frame below a shim? 0: there is none. */
static inline bool is_below(uint64_t shim, uint64_t frame)
{
    uint64_t below = python_load(shim + python.layout.frame_previous);
    return LIKELY(below == frame) || (!frame && is_base(below));
}

static inline uint64_t read_at(uint64_t frame)
{
    uint64_t at = python_load(frame + python.layout.frame_at);
    return python.layout.code_instructions ? at : (uint32_t)at;
}

/* --- code objects ----------------------------------------------------------------------------- */

#define MIX UINT64_C(0x9e3779b97f4a7c15)

#define TEXT_MOST 1024 /* of a longer str only the end is summed */

static inline uint64_t load_unaligned(uint64_t address)
{
    uint64_t word;
    __builtin_memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

static inline uint64_t head_of_text(uint64_t object)
{
    bool ascii = python_load_half(object + PYTHON_STATE) >> 6 & 1;
    return ascii ? python.layout.text_ascii : python.layout.text_compact;
}

/* Where a str ends: its last 8 bytes, which for a short one include a part of its header. */
static inline uint64_t end_of_text(uint64_t object)
{
    uint32_t state = python_load_half(object + PYTHON_STATE);
    uint64_t size = python_load(object + PYTHON_SIZE)
                    << (state >> 3 & 3); /* 1, 2 or 4 bytes each */
    bool compact = PYTHON_TEXT_COMPACT(state);
    return compact ? object + head_of_text(object) + size - 8 : object + PYTHON_SIZE;
}

/* A sum of what is before its last 8 bytes; for a long str, of 8 bytes. */
static inline uint64_t sum_of_text(uint64_t object, uint64_t end)
{
    uint64_t sum = 0, factor = MIX;
    if (UNLIKELY(end - object > TEXT_MOST))
        return load_unaligned(end - 8);
    for (uint64_t at = object + head_of_text(object); at < end; at += 8, factor += MIX << 1)
        sum += load_unaligned(at) * factor;
    return sum;
}

static inline bool leaves_page(uint64_t object, uint64_t end)
{
    return (object ^ (end + 7)) >= 4096;
}

/* There may be other names now. What is on the page where a name begins can be read even if the
 * name is shorter; what is on further pages cannot. */
static __attribute__((noinline, cold)) bool names_end_there(const struct python_parts *p)
{
    return end_of_text(p->file) == p->file_end && end_of_text(p->name) == p->name_end;
}

/*
 * Distinguishes code objects that were at one address at different times. It compares the line
 * table, by address and by its first bytes; and the version, if there is one (it is an
 * interpreter's own count), or the names and the table's last bytes. 0: it is no longer possible to
 * say what it was.
 */
static inline uint64_t read_code(uint64_t code, uint32_t version, struct python_parts *p)
{
    const struct python_layout *l = &python.layout;
    if (UNLIKELY(!python_load_half(code + PYTHON_REFERENCES)))
        return 0; /* it is about to be freed, its parts may be gone */
    p->lines = python_load(code + l->code_lines);
    p->begin = python_load(p->lines + PYTHON_BYTES);
    uint64_t h = p->lines << 24 ^ p->begin;
    if (version)
        return ((h ^ version) * MIX) | 1;
    p->first_line = python_load_half(code + l->code_first_line);
    p->file = python_load(code + l->code_file);
    p->file_end = end_of_text(p->file);
    p->file_text = load_unaligned(p->file_end);
    p->name = python_load(code + l->code_qualified);
    p->name_end = end_of_text(p->name);
    p->name_text = load_unaligned(p->name_end);
    p->leaves_page = leaves_page(p->file, p->file_end) || leaves_page(p->name, p->name_end);
    h = (h ^ p->file << 16 ^ p->file_end ^ (uint64_t)p->first_line << 44) * MIX + p->file_text;
    h = (h ^ h >> 29 ^ p->name << 16 ^ p->name_end) * MIX + p->name_text;
    h = (h ^ h >> 29 ^ sum_of_text(p->file, p->file_end)) * MIX + sum_of_text(p->name, p->name_end);
    uint64_t size = python_load(p->lines + PYTHON_SIZE), last = 0;
    if (size > 8)
        last = load_unaligned(p->lines + PYTHON_BYTES + size - 8);
    return ((h ^ h >> 29 ^ size << 1) * MIX + last) | 1;
}

/* Is the code of a frame still the one that was read, provided that the frame has not changed? */
static inline bool is_as_read(const struct python_frame *f, const struct python_parts *p)
{
    const struct python_layout *l = &python.layout;
    if (LIKELY(f->version)) /* no other code object ever has it, and a frame keeps its code alive */
        return python_load_half(f->code + l->code_version) == f->version;
    return python_load_half(f->code + PYTHON_REFERENCES) &&
           python_load(f->code + l->code_lines) == p->lines &&
           python_load(p->lines + PYTHON_BYTES) == p->begin &&
           python_load_half(f->code + l->code_first_line) == p->first_line &&
           python_load(f->code + l->code_file) == p->file &&
           python_load(f->code + l->code_qualified) == p->name &&
           (LIKELY(!p->leaves_page) || names_end_there(p)) &&
           load_unaligned(p->file_end) == p->file_text &&
           load_unaligned(p->name_end) == p->name_text;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* false: not a frame that we can read. */
static inline bool read_frame(struct python_frame *f, uint64_t frame)
{
    const struct python_layout *l = &python.layout;
    f->frame = frame;
    f->previous = f->caller = python_load(frame + l->frame_previous);
    f->code = code_of(frame);
    f->at = read_at(frame);
    f->entries = 1;
    if (l->chain == PYTHON_ENTRIES)
        f->entries = python_load_byte(frame + l->frame_entry) != 0;
    else if (l->chain == PYTHON_SHIMS)
        f->caller = skip_shims(f->previous, &f->entries);
    return LIKELY(python_is_pointer(f->code));
}

/*
 * Is the frame unchanged, provided that its code object is? Its caller is checked next, so that
 * what is read is always part of the present chain. An instruction identifies the code it belongs
 * to. All words are in the frame itself, so they are compared at once, with one branch.
 */
static inline __attribute__((always_inline)) bool stands(const struct python_frame *f,
                                                         enum python_chain chain)
{
    const struct python_layout *l = &python.layout;
    uint64_t differs = load_unaligned(f->frame + l->frame_previous) ^ f->previous;
    if (chain < PYTHON_ENTRIES)
        differs |=
            (code_of(f->frame) ^ f->code) | (python_load_half(f->frame + l->frame_at) ^ f->at);
    else
        differs |= load_unaligned(f->frame + l->frame_at) ^ f->at;
    if (chain == PYTHON_ENTRIES)
        differs |= *(const uint8_t *)(uintptr_t)(f->frame + l->frame_entry) ^ f->entries;
    if (UNLIKELY(differs))
        return false;
    return chain != PYTHON_SHIMS || !f->entries ||
           (f->entries == 1 && is_shim(f->previous) && is_below(f->previous, f->caller));
}

/* `known`: the code of the frame that it called, which is unchanged. */
static inline bool has_code(const struct python_frame *f, const struct python_parts *parts,
                            uint64_t known)
{
    return code_of(f->frame) == f->code && (f->code == known || is_as_read(f, parts));
}

/* The innermost of the `count` outermost frames that has changed: its index + 1; 0: none has.
 * Searches from the innermost of them outwards. */
static inline __attribute__((always_inline)) uint32_t
first_changed(const struct python_thread *p, uint32_t count, enum python_chain chain, bool watched)
{
    const struct python_frame *outermost = p->remembered, *f = outermost + count;
    for (uint64_t known = 0; f != outermost; known = f->code) {
        f--;
        if (UNLIKELY(!stands(f, chain) ||
                     (!watched && !has_code(f, &p->parts[f - outermost], known))))
            return (uint32_t)(f - outermost) + 1;
    }
    return 0;
}

static inline uint16_t *index_of(struct python_thread *p, uint64_t frame)
{
    return &p->index[(frame >> 4) * MIX >> 56];
}
static_assert(PYTHON_INDEXES == 1 << (64 - 56), "index_of takes that many bits of the hash");

/* While code objects are not watched. */
static __attribute__((noinline)) uint32_t first_changed_unwatched(const struct python_thread *p,
                                                                  uint32_t count)
{
    switch (python.layout.chain) { /* each has a loop of its own, which is short then */
    case PYTHON_SHIMS:
        return first_changed(p, count, PYTHON_SHIMS, false);
    case PYTHON_ENTRIES:
        return first_changed(p, count, PYTHON_ENTRIES, false);
    default:
        return first_changed(p, count, PYTHON_CFRAMES, false);
    }
}

/* Are the `count` outermost frames unchanged? Forgets those that are not. */
static inline bool stand(struct python_thread *p, uint32_t count)
{
    uint32_t changed;
    if (!p->era)
        changed = first_changed_unwatched(p, count);
    else if (python.layout.chain == PYTHON_SHIMS)
        changed = first_changed(p, count, PYTHON_SHIMS, true);
    else if (python.layout.chain == PYTHON_ENTRIES)
        changed = first_changed(p, count, PYTHON_ENTRIES, true);
    else
        changed = first_changed(p, count, PYTHON_CFRAMES, true);
    p->count = changed ? changed - 1 : count;
    return !changed;
}

/* Is `frame` cached, and everything further out unchanged? Forgets what is not. */
static inline bool matches(struct python_thread *p, uint64_t frame)
{
    uint32_t i = *index_of(p, frame);
    return i < p->count && p->remembered[i].frame == frame && stand(p, i + 1);
}

static uint32_t byte_of(const struct python_frame *f)
{
    const struct python_layout *l = &python.layout;
    if (l->code_instructions)
        return (uint32_t)(f->at - (f->code + l->code_instructions));
    return (uint32_t)f->at == UINT32_MAX ? UINT32_MAX : (uint32_t)f->at * l->at_scale;
}

/* The number of a frame's code, from the contents of the code object. */
static __attribute__((noinline)) uint32_t examine_code(struct python_thread *p,
                                                       struct python_frame *f)
{
    const struct python_layout *l = &python.layout;
    f->version = l->code_version ? python_load_half(f->code + l->code_version) : 0;
    uint64_t stamp = read_code(f->code, f->version, &p->parts[f - p->remembered]);
    if (UNLIKELY(!stamp))
        p->doubtful = true;
    return python_code_number(p, f->code, stamp);
}

/* The frames of `fresh`, from the last of them, which is the outermost; so many were remembered. */
static bool remember(struct python_thread *p, uint32_t fresh, uint32_t before)
{
    uint64_t hash = p->count ? p->remembered[p->count - 1].hash : 0;
    const struct python_frame *beside = NULL;
    for (; fresh-- > 0; p->count++) {
        struct python_frame *f = &p->remembered[p->count];
        uint64_t had = p->count < before && f->frame == p->fresh[fresh] ? f->code : 0;
        if (UNLIKELY(!read_frame(f, p->fresh[fresh])))
            return false;
        if (beside && beside->code == f->code) { /* recursion */
            f->number = beside->number;
            f->version = beside->version;
            if (!p->era)
                p->parts[p->count] = p->parts[p->count - 1];
        } else if (f->code == had && (p->era || is_as_read(f, &p->parts[p->count]))) {
            ; /* it has only advanced */
        } else if (!python_code_find(p, f->code, &f->number)) {
            f->number = examine_code(p, f);
        }
        f->line = f->number ? python_code_line(p, f->number, byte_of(f)) : 0;
        hash = (hash ^ ((uint64_t)f->number << 34 ^ (uint64_t)f->line << 2 ^ f->entries)) * MIX;
        f->hash = hash ^= hash >> 29;
        *index_of(p, f->frame) = (uint16_t)p->count;
        p->merged[p->count].stack = 0;
        beside = f;
    }
    return p->count != 0;
}

static inline uint64_t caller_of(uint64_t frame)
{
    uint32_t shims;
    uint64_t caller = python_load(frame + python.layout.frame_previous);
    return python.layout.chain == PYTHON_SHIMS ? skip_shims(caller, &shims) : caller;
}

/* Updates the cached frames; false: nothing usable. *shims: on top of the chain. */
static inline __attribute__((always_inline)) bool read_frames(struct python_thread *p,
                                                              uint64_t state, uint32_t *shims)
{
    uint32_t fresh = 0;
    uint64_t frame = innermost_of(state), era = python_era();
    *shims = 0;
    if (UNLIKELY(p->era != era || p->doubtful)) {
        p->count = 0;
        p->era = era;
        p->doubtful = false;
    }
    uint32_t before = p->count;
    if (python.layout.chain == PYTHON_SHIMS)
        frame = skip_shims(frame, shims);
    if (LIKELY(before && p->remembered[before - 1].frame == frame) && stand(p, before))
        return true; /* nothing has changed */
    for (; frame && !matches(p, frame); frame = caller_of(frame)) {
        if (UNLIKELY(p->count + fresh == PYTHON_FRAMES)) {
            p->count = 0;
            if (fresh == PYTHON_FRAMES) { /* half of them, so that it is not cut again at once */
                p->cut = true;
                return remember(p, PYTHON_FRAMES / 2, before);
            }
        }
        if (UNLIKELY(!python_is_pointer(frame)))
            return false;
        p->fresh[fresh++] = frame;
    }
    if (!frame) { /* to its end: nothing that is remembered is part of it */
        p->count = 0;
        p->cut = false;
    }
    return remember(p, fresh, before);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* The first state that this thread was given; 0: none. */
static inline uint64_t first_state(void)
{
    uint64_t at = atomic_load_explicit(&python.key, memory_order_relaxed);
    if (UNLIKELY(!at))
        return (uint64_t)(uintptr_t)python.thread_state();
    uint64_t key = python_load(at);
    return LIKELY((uint32_t)key == 1)
               ? (uint64_t)(uintptr_t)libc.getspecific((pthread_key_t)(key >> 32))
               : 0;
}

static inline bool is_one_of_several(void)
{
    uint64_t at = atomic_load_explicit(&python.interpreters, memory_order_relaxed);
    if (LIKELY(at))
        return python_load(at) != python_load(at + 8);
    return python.first_interpreter && python.first_interpreter() != python.main_interpreter();
}

/*
 * The interpreter's state for this thread; 0: none, or none that may be read. Up to 3.11 the
 * thread's own is its first one, of whichever interpreter; if it runs in another now, it holds the
 * lock that all share, and the current state is its own.
 */
static inline __attribute__((always_inline)) uint64_t own_state(void)
{
    uint64_t state = first_state();
    if (UNLIKELY(is_one_of_several())) {
        uint64_t current = (uint64_t)(uintptr_t)python.current_state();
        if (current && current != state &&
            python_load(current + python.layout.thread_id) == (uint64_t)pthread_self())
            state = current;
    }
    /* The thread that finalises frees the states of all other threads. */
    uint64_t finalizing = python_finalizer();
    if (LIKELY(!finalizing))
        return state;
    if (recorder.header->objects_wanted)
        atomic_store(&recorder.objects_unsettled, true);
    return finalizing != state ? 0 : state;
}

/* Updates what is cached about the thread; NULL: it runs no Python code. */
static inline __attribute__((always_inline)) struct python_thread *
read_thread(struct thread *t, uint32_t *shims, bool now)
{
    uint64_t state = own_state();
    struct python_thread *p = t->python;
    if (!state)
        return NULL;
    if (UNLIKELY(!atomic_load_explicit(&python.proven, memory_order_acquire))) {
        if (!python_prove(state))
            return NULL;
    } else if (UNLIKELY(!p || p->state != state) && !python_is_own(state)) {
        return NULL;
    }
    if (UNLIKELY(!p) && !(p = python_thread_new(t)))
        return NULL;
    if (UNLIKELY(p->state != state)) {
        p->state = state;
        p->count = 0; /* another interpreter's code may have the same versions */
    }
    if (!read_frames(p, state, shims))
        return NULL;
    if (LIKELY(p->name.skip && !now))
        p->name.skip--;
    else if (!t->in_handler)
        python_name(t, now);
    return p;
}

/* The same for callers other than allocations. */
static __attribute__((noinline)) bool runs(struct thread *t, bool now)
{
    uint32_t shims;
    return read_thread(t, &shims, now) != NULL;
}

bool python_runs(struct thread *t)
{
    return runs(t, false);
}

bool python_stands_still(void)
{
    if (!atomic_load_explicit(&python.proven, memory_order_acquire))
        return false;
    uint64_t state = own_state();
    return !state || python_is_whole(state);
}

bool python_check_name(struct thread *t)
{
    if (!python_enter(t))
        return true;
    bool found = runs(t, true);
    python_leave(t);
    return found;
}

static inline uint64_t key_of(const struct python_thread *p, uint64_t native, uint32_t shims)
{
    uint64_t chain = p->count ? p->remembered[p->count - 1].hash : 0;
    uint64_t key = (chain ^ (native << 23 | native >> 41) ^ shims << 1 ^ p->cut) * MIX;
    key ^= key >> 32;
    return key ? key : 1;
}

static inline struct python_pair *pair_of(struct python_thread *p, uint64_t key)
{
    static_assert(PYTHON_PAIRS == 1 << (64 - 51), "as many bits of the key");
    return &p->pairs[key >> 51];
}

struct python_pair *python_known(struct thread *t, uint64_t native, uint64_t *key)
{
    uint32_t shims;
    struct python_thread *p = t->python;
    if (LIKELY(p && p->count)) /* if the frames are unchanged, and mostly they are */
        __builtin_prefetch(pair_of(p, key_of(p, native, 0)));
    if (UNLIKELY(!read_thread(t, &shims, false))) { /* its stack has native frames only, for now */
        shims = 0;
        p->count = 0;
        p->cut = false;
    }
    *key = key_of(p, native, shims);
    struct python_pair *pair = pair_of(p, *key);
    return pair->key == *key ? pair : NULL;
}

void python_keep(struct thread *t, uint64_t key, uint32_t stack)
{
    *pair_of(t->python, key) = (struct python_pair){.key = key, .stack = stack};
}
