#include "collect/leakscan/ruby_end.h"

#include <stdlib.h>

#include "base/path.h"
#include "base/say.h"
#include "base/text.h"
#include "collect/proc/own_mappings.h"

enum site_state { SITE_UNSEEN, SITE_RUBYS, SITE_OTHER };

static bool is_ruby(const char *name)
{
    return text_begins(name, "libruby") || text_begins(name, "ruby");
}

static bool is_libc(const char *name)
{
    return text_begins(name, "libc.so") || text_begins(name, "libc-2.") ||
           text_begins(name, "ld-linux") || text_begins(name, "ld-2.");
}

bool ruby_end_open(struct ruby_end *r, const struct target *t)
{
    const struct profile *p = &t->profile;
    bool found = false;
    *r = (struct ruby_end){.target = t};
    for (size_t i = 0; i < p->modules.count; i++) {
        const struct module *m = &p->modules.items[i];
        const char *path = m->path ? m->path : "", *name = path_base(path);
        found |= is_ruby(name);
        if (!is_ruby(name) && !is_libc(name) && !is_own_library(path))
            address_set_add(&r->others, m->start, m->end);
    }
    if (!found) {
        address_set_release(&r->others);
        return false;
    }
    address_set_settle(&r->others);
    r->sites = xcalloc(t->ledger.accounts.count + 1, sizeof *r->sites);
    return true;
}

static bool is_in(const struct address_set *set, uint64_t address)
{
    size_t at = address_set_find(set, address);
    return at < set->items.count && set->items.items[at].start <= address;
}

static enum site_state state_of(const struct ruby_end *r, uint32_t site)
{
    uint32_t number = r->target->ledger.accounts.items[site].node;
    while (number) {
        struct node n = program_stacks_node(&r->target->program_stacks, number);
        if (n.address > NODE_POOL && is_in(&r->others, NODE_PC(n.address) - 1))
            return SITE_OTHER;
        number = n.parent;
    }
    return SITE_RUBYS;
}

bool ruby_end_is(struct ruby_end *r, const struct block *b)
{
    if (b->site >= r->target->ledger.accounts.count)
        return false;
    if (r->sites[b->site] == SITE_UNSEEN)
        r->sites[b->site] = (uint8_t)state_of(r, b->site);
    return r->sites[b->site] == SITE_RUBYS;
}

void ruby_end_count(struct ruby_end *r, uint64_t size)
{
    r->blocks++;
    r->bytes += size;
}

#define NOTE "Ruby frees its objects before it ends, so"

/* The note of an earlier scan, or a new one. */
static char **note_of(struct target *t)
{
    for (size_t i = 0; i < t->profile.notes.count; i++)
        if (text_begins(t->profile.notes.items[i], NOTE)) {
            free(t->profile.notes.items[i]);
            return &t->profile.notes.items[i];
        }
    return vec_push(&t->profile.notes);
}

void ruby_end_close(struct ruby_end *r, struct target *t)
{
    struct strbuf text = {0};
    if (r->blocks) {
        say(&text,
            NOTE
            " it is not known whether what they owned was lost: %B in %N block(s); 'tidemark ctl "
            "PID leaks' scans the running program",
            r->bytes, r->blocks);
        *note_of(t) = strbuf_detach(&text);
    }
    address_set_release(&r->others);
    free(r->sites);
}
