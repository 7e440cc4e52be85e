#include "model/suppress_states.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* --- sets of places ----------------------------------------------------------------------------*/

static bool set_has(const uint64_t *set, size_t place)
{
    return set[place / 64] >> place % 64 & 1;
}

static void set_put(uint64_t *set, size_t place)
{
    set[place / 64] |= (uint64_t)1 << place % 64;
}

static const uint64_t *set_at(const struct suppress_states *s, uint32_t number)
{
    return s->sets.items + number * s->words;
}

/* An empty set. Its number is assigned by set_keep, which must be the next call. */
static uint64_t *set_new(struct suppress_states *s)
{
    vec_reserve(&s->sets, s->sets.count + s->words);
    uint64_t *set = s->sets.items + s->sets.count;
    memset(set, 0, s->words * sizeof *set);
    return set;
}

static uint32_t set_keep(struct suppress_states *s, const uint64_t *set)
{
    uint32_t *head = map_at(&s->set_index, XXH3_64bits(set, s->words * sizeof *set));
    for (uint32_t n = *head; n != MAP_NONE; n = s->set_next.items[n])
        if (memcmp(set_at(s, n), set, s->words * sizeof *set) == 0)
            return n;
    uint32_t number = (uint32_t)s->set_next.count;
    *vec_push(&s->set_next) = *head;
    *head = number;
    s->sets.count += s->words;
    return number;
}

/* --- classes of frames -------------------------------------------------------------------------*/

struct place_subject suppress_subject(const struct frame_table *t, const struct map *objects,
                                      uint32_t frame)
{
    const struct call_frame *f = &t->frames.items[frame];
    uint32_t module = f->module ? map_get(objects, f->module) : MAP_NONE;
    return (struct place_subject){.function = frame_table_string(t, f->name),
                                  .file = f->file ? frame_table_string(t, f->file) : NULL,
                                  .object = module != MAP_NONE
                                                ? t->profile->modules.items[module].path
                                            : f->module ? frame_table_string(t, f->module)
                                                        : NULL,
                                  .line = f->line};
}

/* Most places belong to a few libraries, and need not be compared with functions of others. */
static uint32_t places_of_object(struct suppress_states *s, uint32_t module,
                                 const struct place_subject *subject)
{
    uint32_t *known = map_at(&s->of_object, module);
    if (*known == MAP_NONE) {
        uint64_t *set = set_new(s);
        for (size_t i = 0; i < s->places.count; i++)
            if (place_passes(s->places.items[i].place, subject))
                set_put(set, i);
        *known = set_keep(s, set);
    }
    return *known;
}

static uint32_t class_of(struct suppress_states *s, uint32_t frame)
{
    while (s->class_of.count <= frame)
        *vec_push(&s->class_of) = MAP_NONE;
    if (s->class_of.items[frame] != MAP_NONE)
        return s->class_of.items[frame];
    struct place_subject subject = suppress_subject(s->frames, s->objects, frame);
    uint32_t object = places_of_object(s, s->frames->frames.items[frame].module, &subject);
    uint64_t *set = set_new(s);
    const uint64_t *near = set_at(s, object);
    for (size_t i = 0; i < s->places.count; i++) {
        const struct place *p = s->places.items[i].place;
        if (set_has(near, i) && (p->kind == PLACE_ANY_NUMBER || place_matches(p, &subject)))
            set_put(set, i);
    }
    return s->class_of.items[frame] = set_keep(s, set);
}

/* --- states ------------------------------------------------------------------------------------*/

/*
 * Goes from the last place to the first: "..." matches with what follows it, or by skipping one
 * more frame; any other place must match this frame, and the next place the rest. `state` is NULL
 * for a stack without frames.
 */
static uint32_t state_after(struct suppress_states *s, const uint32_t *state, uint32_t class)
{
    uint64_t *set = set_new(s);
    const uint64_t *rest = state ? set_at(s, *state) : NULL;
    const uint64_t *frame = state ? set_at(s, class) : NULL;
    for (size_t i = s->places.count; i-- > 0;) {
        const struct state_place *p = &s->places.items[i];
        bool is_any = p->place->kind == PLACE_ANY_NUMBER;
        bool matches = is_any && (p->ends || set_has(set, i + 1));
        if (!matches && rest && set_has(frame, i))
            matches = is_any ? set_has(rest, i) : p->ends || set_has(rest, i + 1);
        if (matches)
            set_put(set, i);
    }
    return set_keep(s, set);
}

static uint32_t step(struct suppress_states *s, uint32_t state, uint32_t class)
{
    uint32_t *known = map_at(&s->steps, (uint64_t)state << 32 | class);
    if (*known == MAP_NONE)
        *known = state_after(s, &state, class);
    return *known;
}

static uint32_t parent_of(const struct profile *p, uint32_t node)
{
    uint32_t parent = p->nodes.items[node].parent;
    return parent < node ? parent : 0;
}

/* Applies the frames of a node, except the `left_out` innermost ones, to a state. */
static uint32_t state_with(struct suppress_states *s, uint32_t state, struct frame_run run,
                           uint32_t left_out)
{
    for (uint32_t k = run.count; k-- > left_out;)
        state = step(s, state, class_of(s, s->frames->list.items[run.first + k]));
    return state;
}

static uint32_t state_of(struct suppress_states *s, uint32_t node)
{
    const struct profile *p = s->frames->profile;
    s->to_do.count = 0;
    for (; node && s->state_of[node] == MAP_NONE; node = parent_of(p, node))
        *vec_push(&s->to_do) = node;
    uint32_t state = node ? s->state_of[node] : s->empty;
    while (s->to_do.count) {
        node = s->to_do.items[--s->to_do.count];
        state = state_with(s, state, frame_table_run(s->frames, node), 0);
        s->state_of[node] = state;
    }
    return state;
}

static uint32_t first_rule(struct suppress_states *s, uint32_t state)
{
    uint32_t *rule = map_at(&s->rule_of, state);
    if (*rule == MAP_NONE) {
        *rule = MAP_NONE - 1;
        for (size_t i = s->places.count; i-- > 0;)
            if (s->places.items[i].begins && set_has(set_at(s, state), i))
                *rule = s->places.items[i].rule;
    }
    return *rule == MAP_NONE - 1 ? UINT32_MAX : *rule;
}

uint32_t suppress_states_rule(struct suppress_states *s, uint32_t node)
{
    const struct profile *p = s->frames->profile;
    if (!s->places.count)
        return UINT32_MAX;
    for (; node;
         node = parent_of(p, node)) { /* the allocator's own innermost frames do not count */
        struct frame_run run = frame_table_run(s->frames, node);
        uint32_t own = 0;
        while (own < run.count &&
               s->frames->frames.items[s->frames->list.items[run.first + own]].flags &
                   CALL_ALLOCATOR)
            own++;
        if (own == 0)
            return first_rule(s, state_of(s, node));
        if (own < run.count)
            return first_rule(s, state_with(s, state_of(s, parent_of(p, node)), run, own));
    }
    return first_rule(s, s->empty);
}

/* --- building and asking ---------------------------------------------------------------------- */

void suppress_states_add(struct suppress_states *s, const struct place *places, uint32_t count,
                         uint32_t rule)
{
    for (uint32_t i = 0; i < count; i++)
        *vec_push(&s->places) = (struct state_place){
            .place = &places[i], .rule = rule, .begins = i == 0, .ends = i + 1 == count};
}

void suppress_states_init(struct suppress_states *s, struct frame_table *frames,
                          const struct map *objects)
{
    s->frames = frames;
    s->objects = objects;
    s->words = s->places.count / 64 + 1;
    size_t nodes = frames->profile->nodes.count;
    if (!s->places.count)
        return;
    s->state_of = xmalloc((nodes + 1) * sizeof *s->state_of);
    memset(s->state_of, 0xff, (nodes + 1) * sizeof *s->state_of);
    s->empty = state_after(s, NULL, 0);
}

void suppress_states_release(struct suppress_states *s)
{
    vec_release(&s->places);
    vec_release(&s->sets);
    vec_release(&s->set_next);
    map_release(&s->set_index);
    map_release(&s->rule_of);
    map_release(&s->steps);
    map_release(&s->of_object);
    vec_release(&s->class_of);
    vec_release(&s->to_do);
    free(s->state_of);
    *s = (struct suppress_states){0};
}
