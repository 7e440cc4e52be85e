#include "model/suppress_match.h"

#include <stdlib.h>

#include "base/path.h"

enum known { UNKNOWN, MATCHES, DIFFERS }; /* about a place and a frame */

static void add_rules(struct suppress_match *m, const struct suppressions *s, bool presets)
{
    const struct stack_filter *filter = m->frames->filter;
    for (size_t i = 0; i < s->rules.count; i++) {
        const struct suppression *rule = &s->rules.items[i];
        const struct place *places = &s->places.items[rule->first];
        if (filter->leak_kinds ? !(filter->leak_kinds & rule->leak_kinds) : rule->only_leaks)
            continue;
        bool anywhere = rule->count == 2 && places[0].kind == PLACE_ANY_NUMBER &&
                        !places[0].object && places[1].kind != PLACE_ANY_NUMBER &&
                        !places[1].allocation;
        bool climbs = !anywhere && rule->from_allocation;
        m->anywhere += anywhere;
        m->climbing += climbs;
        if (!anywhere && !climbs)
            suppress_states_add(&m->states, places, rule->count, (uint32_t)m->rules.count);
        *vec_push(&m->rules) =
            (struct suppress_rule){.rule = rule,
                                   .places = places,
                                   .known = xcalloc(rule->count + 1, sizeof(uint8_t *)),
                                   .known_count = xcalloc(rule->count + 1, sizeof(size_t)),
                                   .is_anywhere = anywhere,
                                   .climbs = climbs,
                                   .is_preset = presets};
    }
}

/* Frames have only the base names of their libraries. */
static void add_objects(struct suppress_match *m)
{
    const struct profile *p = m->frames->profile;
    for (size_t i = 0; i < p->modules.count; i++) {
        const char *path = p->modules.items[i].path;
        if (!path || !*path)
            continue;
        uint32_t *module = map_at(&m->objects, strpool_add(&m->frames->strings, path_base(path)));
        if (*module == MAP_NONE)
            *module = (uint32_t)i;
    }
}

void suppress_match_init(struct suppress_match *m, struct frame_table *frames)
{
    *m = (struct suppress_match){.frames = frames, .node = SUPPRESS_NONE};
    if (!frames->filter)
        return;
    add_rules(m, &frames->filter->suppress, false);
    add_rules(m, &frames->recorded.suppress, false);
    if (frames->filter->presets)
        add_rules(m, &frames->presets, true);
    if (m->rules.count)
        add_objects(m);
    suppress_states_init(&m->states, frames, &m->objects);
}

void suppress_match_release(struct suppress_match *m)
{
    for (size_t i = 0; i < m->rules.count; i++) {
        struct suppress_rule *r = &m->rules.items[i];
        for (uint32_t k = 0; k < r->rule->count; k++)
            free(r->known[k]);
        free(r->known);
        free(r->known_count);
    }
    vec_release(&m->rules);
    vec_release(&m->of_frame);
    vec_release(&m->stack);
    suppress_states_release(&m->states);
    map_release(&m->objects);
}

/* Compares each place with each frame once. */
static bool matches(struct suppress_match *m, struct suppress_rule *r, uint32_t place,
                    uint32_t frame)
{
    if (frame >= r->known_count[place]) {
        size_t before = r->known_count[place], count = m->frames->frames.count;
        r->known[place] = xrealloc(r->known[place], count);
        memset(r->known[place] + before, UNKNOWN, count - before);
        r->known_count[place] = count;
    }
    uint8_t *known = &r->known[place][frame];
    if (*known == UNKNOWN) {
        const struct place *p = &r->places[place];
        struct place_subject subject = suppress_subject(m->frames, &m->objects, frame);
        bool yes =
            p->kind == PLACE_ANY_NUMBER ? place_passes(p, &subject) : place_matches(p, &subject);
        *known = yes ? MATCHES : DIFFERS;
    }
    return *known == MATCHES;
}

uint32_t suppress_match_frame(struct suppress_match *m, uint32_t frame)
{
    if (!m->anywhere || (m->frames->frames.items[frame].flags & CALL_ALLOCATOR))
        return SUPPRESS_NONE;
    while (m->of_frame.count <= frame)
        *vec_push(&m->of_frame) = MAP_NONE - 1; /* not computed yet */
    uint32_t *rule = &m->of_frame.items[frame];
    if (*rule == MAP_NONE - 1) {
        *rule = SUPPRESS_NONE;
        for (size_t i = 0; i < m->rules.count && *rule == SUPPRESS_NONE; i++)
            if (m->rules.items[i].is_anywhere && matches(m, &m->rules.items[i], 1, frame))
                *rule = (uint32_t)i;
    }
    return *rule;
}

/* The i-th frame from the innermost that is not the allocator's own; false: there is none. */
static bool frame_at(struct suppress_match *m, size_t i, uint32_t *frame)
{
    const struct profile *p = m->frames->profile;
    while (m->stack.count <= i) {
        uint32_t node = m->next_node;
        if (!node || node >= p->nodes.count)
            return false;
        struct frame_run run = frame_table_run(m->frames, node);
        for (uint32_t k = 0; k < run.count; k++) {
            uint32_t number = m->frames->list.items[run.first + k];
            if (m->stack.count || !(m->frames->frames.items[number].flags & CALL_ALLOCATOR))
                *vec_push(&m->stack) = number;
        }
        m->next_node = p->nodes.items[node].parent < node ? p->nodes.items[node].parent : 0;
    }
    *frame = m->stack.items[i];
    return true;
}

/*
 * Position 0 of a valgrind rule is the allocation function, which is not on our stacks; the place
 * itself says whether it can match one.
 */
static bool matches_at(struct suppress_match *m, struct suppress_rule *r, uint32_t place, size_t at)
{
    bool virtual = r->rule->from_allocation;
    uint32_t frame;
    if (virtual && at == 0)
        return r->places[place].kind == PLACE_ANY_NUMBER ||
               (r->places[place].allocation & m->allocation);
    return frame_at(m, at - virtual, &frame) && matches(m, r, place, frame);
}

static bool exists_at(struct suppress_match *m, const struct suppress_rule *r, size_t at)
{
    uint32_t frame;
    return (r->rule->from_allocation && at == 0) ||
           frame_at(m, at - r->rule->from_allocation, &frame);
}

/* As with wildcards in a text, only the last "..." needs to be tried again. */
static bool rule_matches(struct suppress_match *m, struct suppress_rule *r)
{
    uint32_t place = 0, star = SUPPRESS_NONE;
    size_t at = 0, from = 0;
    while (place < r->rule->count) {
        if (r->places[place].kind == PLACE_ANY_NUMBER) {
            star = place++;
            from = at;
        } else if (matches_at(m, r, place, at)) {
            place++;
            at++;
        } else if (star != SUPPRESS_NONE && exists_at(m, r, from) && matches_at(m, r, star, from)) {
            place = star + 1;
            at = ++from;
        } else {
            return false;
        }
    }
    return true;
}

uint32_t suppress_match_stack(struct suppress_match *m, uint32_t node, enum allocation allocation,
                              uint32_t rule)
{
    uint32_t first = suppress_states_rule(&m->states, node);
    rule = first < rule ? first : rule;
    if (!m->climbing)
        return rule;
    if (node != m->node) {
        m->stack.count = 0;
        m->node = m->next_node = node;
    }
    m->allocation = allocation;
    for (size_t i = 0; i < m->rules.count && i < rule; i++)
        if (m->rules.items[i].climbs && rule_matches(m, &m->rules.items[i]))
            return (uint32_t)i;
    return rule;
}
