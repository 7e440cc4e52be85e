#include "collect/leakscan/scan_forked.h"

#include "collect/leakscan/pointer_lookup.h"

#define BUFFER 65536

/* Words that point to a block of the process itself, and where they are: in no such block. */
struct candidates {
    VEC(uint64_t) at; /* in order */
    VEC(uint64_t) words;
    size_t next; /* the first that is not before the last inherited block */
    struct reachability *reach;
};

static void gather_words(struct candidates *c, struct address_range part, const char *bytes)
{
    const struct reachability *f = c->reach;
    for (uint64_t at = part.start; at + 8 <= part.end; at += 8) {
        uint64_t word;
        if (!pointer_at(f, bytes, at - part.start, &word) ||
            reachability_find(f, word) == UINT32_MAX || reachability_find(f, at) != UINT32_MAX)
            continue;
        *vec_push(&c->at) = at;
        *vec_push(&c->words) = word;
    }
}

/* Candidates in an inherited block are roots. */
static void take_words(void *context, const struct block *b, bool inherited)
{
    struct candidates *c = context;
    if (!inherited)
        return;
    while (c->next < c->at.count && c->at.items[c->next] < b->address)
        c->next++;
    for (size_t i = c->next; i < c->at.count && c->at.items[i] - b->address < b->size; i++)
        reachability_word(c->reach, c->words.items[i]);
}

void scan_forked_roots(struct target *t, struct memory *m, struct reachability *reach)
{
    char buffer[BUFFER];
    struct address_set parts = {0};
    struct candidates c = {.reach = reach};
    for (size_t i = 0; i < m->regions.count; i++) {
        const struct region *each = &m->regions.items[i];
        parts.items.count = 0;
        if (each->writable && (each->kind == REGION_ANONYMOUS || each->kind == REGION_HEAP))
            address_set_inside(&m->written, each->start, each->end, &parts);
        for (size_t k = 0; k < parts.items.count; k++) {
            struct address_range all = parts.items.items[k];
            for (uint64_t at = all.start; at < all.end; at += BUFFER) {
                struct address_range part = {at, all.end - at > BUFFER ? at + BUFFER : all.end};
                memory_read(m, &part, 1, buffer);
                gather_words(&c, part, buffer);
            }
        }
    }
    block_index_near(t, c.at.items, c.at.count, take_words, &c);
    address_set_release(&parts);
    vec_release(&c.at);
    vec_release(&c.words);
}
