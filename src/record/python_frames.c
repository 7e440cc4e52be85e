#include "record/python.h"

uint64_t python_innermost(uint64_t state)
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

/* From a frame's `previous` to one that is a function's. */
static inline uint64_t skip_shims(uint64_t frame, uint32_t *shims)
{
    *shims = 0;
    while (frame && is_shim(frame)) {
        frame = python_load(frame + python.layout.frame_previous);
        ++*shims;
    }
    return frame;
}

static inline uint64_t read_at(uint64_t frame)
{
    uint64_t at = python_load(frame + python.layout.frame_at);
    return python.layout.code_instructions ? at : (uint32_t)at;
}

/* False: no frame that we know how to read. */
static bool read_frame(struct python_frame *f, uint64_t frame)
{
    const struct python_layout *l = &python.layout;
    if (UNLIKELY(!python_is_place(frame)))
        return false;
    f->frame = frame;
    f->previous = f->caller = python_load(frame + l->frame_previous);
    f->code = python_load(frame + l->frame_code);
    f->at = read_at(frame);
    if (UNLIKELY(!python_is_place(f->code)))
        return false;
    f->stamp = python_stamp(f->code);
    f->entries = 1;
    if (l->chain == PYTHON_ENTRIES)
        f->entries = python_load_byte(frame + l->frame_entry) != 0;
    else if (l->chain == PYTHON_SHIMS)
        f->caller = skip_shims(f->previous, &f->entries);
    return true;
}

/* Its caller is looked at next, so that what is read is always part of the chain as it is now. */
static inline bool holds(const struct python_frame *f)
{
    const struct python_layout *l = &python.layout;
    if (python_load(f->frame + l->frame_previous) != f->previous ||
        python_load(f->frame + l->frame_code) != f->code || read_at(f->frame) != f->at)
        return false;
    if (l->chain == PYTHON_SHIMS) {
        if (f->entries && (f->entries > 1 || !is_shim(f->previous) ||
                           python_load(f->previous + l->frame_previous) != f->caller))
            return false;
    } else if (l->chain == PYTHON_ENTRIES &&
               (python_load_byte(f->frame + l->frame_entry) != 0) != f->entries) {
        return false;
    }
    return python_stamp(f->code) == f->stamp;
}

static inline uint16_t *place_of(struct python_thread *p, uint64_t frame)
{
    return &p->place[(frame >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 56];
}
static_assert(PYTHON_PLACES == 1 << (64 - 56), "place_of takes that many bits of the hash");

/* Is `frame` remembered, and all that is further out as it was? What is not is forgotten. */
static inline bool matches(struct python_thread *p, uint64_t frame)
{
    uint32_t i = *place_of(p, frame);
    if (i >= p->count || p->remembered[i].frame != frame)
        return false;
    p->count = i + 1;
    for (;; i--) {
        if (!holds(&p->remembered[i])) {
            p->count = i;
            return false;
        }
        if (i == 0)
            return true;
    }
}

static uint32_t byte_of(const struct python_frame *f)
{
    const struct python_layout *l = &python.layout;
    if (l->code_instructions)
        return (uint32_t)(f->at - (f->code + l->code_instructions));
    return (uint32_t)f->at == UINT32_MAX ? UINT32_MAX : (uint32_t)f->at * l->at_scale;
}

static void remember(struct python_thread *p, uint32_t fresh)
{
    uint64_t hash = p->count ? p->remembered[p->count - 1].hash : 0;
    for (; fresh-- > 0; p->count++) {
        struct python_frame *f = &p->remembered[p->count];
        *f = p->fresh[fresh];
        f->number = python_code_number(p, f->code, f->stamp);
        f->byte = byte_of(f);
        hash = (hash ^ ((uint64_t)f->number << 34 ^ (uint64_t)f->byte << 2 ^ f->entries)) *
               UINT64_C(0x9e3779b97f4a7c15);
        f->hash = hash ^= hash >> 29;
        *place_of(p, f->frame) = (uint16_t)p->count;
    }
}

bool python_read_frames(struct python_thread *p, uint64_t state, uint32_t *shims)
{
    uint32_t fresh = 0;
    uint64_t frame = python_innermost(state);
    *shims = 0;
    if (python.layout.chain == PYTHON_SHIMS)
        frame = skip_shims(frame, shims);
    for (; frame; frame = p->fresh[fresh - 1].caller) {
        if (matches(p, frame))
            break;
        /* Half of what there is room for, so that it is not cut again at once. */
        if (UNLIKELY(fresh == PYTHON_FRAMES / 2 || p->count + fresh == PYTHON_FRAMES)) {
            p->count = 0;
            if (fresh >= PYTHON_FRAMES / 2) {
                p->cut = true;
                goto out;
            }
        }
        if (UNLIKELY(!read_frame(&p->fresh[fresh++], frame)))
            return false;
    }
    if (!frame) { /* to its end: nothing that is remembered is part of it */
        p->count = 0;
        p->cut = false;
    }
out:
    remember(p, fresh);
    return p->count != 0;
}
