#include "collect/naming/naming.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "collect/naming/resolver.h"
#include "collect/naming/sampled_maps.h"

#define RECENT_ADDRESSES 8192 /* a power of two */

struct naming {
    struct resolver *resolver;
    /* Addresses of one profile that were looked up recently. A tree of millions of nodes has some
     * ten thousand distinct addresses, and neighbours share theirs. */
    uint64_t addresses[RECENT_ADDRESSES];
    const struct profile *addresses_of;
    struct {
        const char *path; /* path of the module */
        uint32_t file;
    } recent[8];
};

struct naming *naming_new(bool in_turn)
{
    struct naming *n = xcalloc(1, sizeof *n);
    n->resolver = resolver_new(in_turn);
    return n;
}

static const struct module *module_of(const struct profile *p, uint64_t address)
{
    uint64_t pc = NODE_PC(address) - 1;
    for (size_t i = 0; i < p->modules.count; i++) {
        const struct module *m = &p->modules.items[i];
        if (pc >= m->start && pc < m->end && m->epoch == NODE_EPOCH(address))
            return m;
    }
    return NULL;
}

/* The same file as the program's loader knows it. For samples, the kernel gives the file's own
 * name; the loader gives the name of the link to it (libstdc++.so.6). One library must have one
 * name. */
static const struct module *as_loaded(const struct profile *p, const struct module *m)
{
    if (m->epoch < SAMPLE_EPOCH || !m->build_id_size)
        return m;
    for (size_t i = 0; i < p->modules.count; i++) {
        const struct module *k = &p->modules.items[i];
        if (k->epoch < SAMPLE_EPOCH && k->start < m->end && m->start < k->end &&
            k->build_id_size == m->build_id_size &&
            memcmp(k->build_id, m->build_id, m->build_id_size) == 0)
            return k;
    }
    return m;
}

static uint32_t file_of(struct naming *n, const struct module *m)
{
    size_t slot = (uintptr_t)m->path / 16 % (sizeof n->recent / sizeof *n->recent);
    if (n->recent[slot].path != m->path) {
        n->recent[slot].file = resolver_file(n->resolver, m->path, m->build_id, m->build_id_size);
        n->recent[slot].path = m->path;
    }
    return n->recent[slot].file;
}

/* NULL: no module covers the address. */
static const struct module *locate(struct naming *n, const struct profile *p, uint64_t address,
                                   struct code_address *at)
{
    const struct module *m =
        address > NODE_KERNEL && !NODE_IS_PYTHON(address) ? module_of(p, address) : NULL;
    if (m)
        *at =
            (struct code_address){.file = file_of(n, m), .address = NODE_PC(address) - 1 - m->bias};
    return m;
}

static uint64_t *recent_address(struct naming *n, uint64_t address)
{
    uint64_t mixed = (address ^ address >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return &n->addresses[mixed >> 32 & (RECENT_ADDRESSES - 1)];
}

static void forget_addresses(struct naming *n, const struct profile *p)
{
    memset(n->addresses, 0, sizeof n->addresses);
    n->addresses_of = p;
}

void naming_add_nodes(struct naming *n, const struct profile *p, const struct node *nodes,
                      size_t count)
{
    if (n->addresses_of != p)
        forget_addresses(n, p);
    for (size_t i = 0; i < count; i++) {
        struct code_address at;
        uint64_t *recent = recent_address(n, nodes[i].address);
        if (*recent == nodes[i].address || !locate(n, p, nodes[i].address, &at))
            continue;
        *recent = nodes[i].address;
        resolver_ask(n->resolver, at);
    }
    resolver_send(n->resolver);
}

bool naming_is_settled(struct naming *n)
{
    return resolver_is_settled(n->resolver);
}

void naming_forget(struct naming *n)
{
    /* Entries refer to modules by the addresses of their paths. */
    memset(n->recent, 0, sizeof n->recent);
    n->addresses_of = NULL;
}

void naming_wait(struct naming *n, void (*tell)(void *context, size_t found, size_t asked),
                 void *context)
{
    resolver_wait(n->resolver, tell, context);
}

void naming_hold(struct naming *n)
{
    resolver_hold(n->resolver);
}

void naming_alone(struct naming *n)
{
    resolver_alone(n->resolver);
}

void naming_go_on(struct naming *n)
{
    resolver_go_on(n->resolver);
}

/* A function without a name is shown by its place in the module: "libx.so.1+0x1234". */
static uint32_t put_offset(struct strpool *strings, const char *module, uint64_t address)
{
    char *text = xasprintf("%s+0x%llx", module, (unsigned long long)address);
    uint32_t number = strpool_add(strings, text);
    free(text);
    return number;
}

static void put_run(struct naming *n, const struct frame *frames, size_t count,
                    struct code_address at, const char *module, struct profile *p,
                    struct strpool *strings)
{
    const struct resolver *r = n->resolver;
    const char *file = path_base(resolver_path(r, at.file));
    size_t size = strlen(file);
    for (size_t i = 0; i < count; i++) {
        struct frame f = frames[i];
        const char *function = resolver_string(r, f.function);
        bool nameless = strncmp(function, file, size) == 0 && text_begins(function + size, "+0x");
        f.function = nameless ? put_offset(strings, module, strtoull(function + size + 1, NULL, 16))
                              : strpool_add(strings, function);
        f.module = strpool_add(strings, module);
        f.file = f.file ? strpool_add(strings, resolver_string(r, f.file)) : 0;
        *vec_push(&p->frames) = f;
    }
}

/* Call it when all addresses have names: replaces module paths by the loader's. */
static void put_paths(struct naming *n, struct profile *p)
{
    for (size_t i = 0; i < p->modules.count; i++) {
        struct module *m = &p->modules.items[i];
        const struct module *loaded = as_loaded(p, m);
        if (loaded == m)
            continue;
        free(m->path);
        m->path = xstrdup(loaded->path);
    }
    naming_forget(n);
}

void naming_fill(struct naming *n, struct profile *p, const struct python_codes *python,
                 const struct jit_names *jit, struct strpool *strings)
{
    strpool_add(strings, "");
    forget_addresses(n, NULL);
    for (size_t i = 1; i < p->nodes.count; i++) {
        uint64_t address = p->nodes.items[i].address;
        uint64_t *recent = recent_address(n, address);
        if (*recent == address && address)
            continue;
        *recent = address;
        uint32_t *number = map_at(&p->symbols, address);
        struct code_address at;
        if (*number != MAP_NONE)
            continue;
        *number = (uint32_t)p->frame_runs.count;
        *vec_push(&p->frame_runs) = (uint32_t)p->frames.count;
        if (NODE_IS_PYTHON(address)) {
            if (python)
                *vec_push(&p->frames) = python_codes_frame(python, address, strings);
            continue;
        }
        const struct module *m = locate(n, p, address, &at);
        if (!m)
            continue; /* an empty run: no module covers it */
        struct frame made;
        if (jit && jit_names_frame(jit, m, NODE_PC(address) - 1, strings, &made)) {
            *vec_push(&p->frames) = made;
            continue;
        }
        const char *module = path_base(as_loaded(p, m)->path);
        size_t count = 0;
        const struct frame *frames = resolver_frames(n->resolver, at, &count);
        if (!frames)
            *vec_push(&p->frames) =
                (struct frame){.function = put_offset(strings, module, at.address),
                               .module = strpool_add(strings, module),
                               .kind = FRAME_NATIVE};
        else
            put_run(n, frames, count, at, module, p, strings);
    }
    put_paths(n, p);
    *vec_push(&p->frame_runs) = (uint32_t)p->frames.count;
}
