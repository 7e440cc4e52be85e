#include "collect/samples_state.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/copied.h"

struct sampled_space {
    struct copied_stack copied;
    struct process *process;
};

static struct area *code_at(const struct process *p, uint64_t address)
{
    struct area *m = areas_find(&p->mappings, address);
    return m && m->file ? m : NULL;
}

static int find_tables(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    const struct sampled_space *space =
        (const void *)((const char *)self - offsetof(struct sampled_space, copied.space));
    const struct area *m = code_at(space->process, address);
    out->epoch = 0; /* rules are forgotten when code goes away */
    return m && code_file_tables(m->file, m->bias, &out->cfi) ? 0 : -1;
}

uint64_t node_address(struct process *p, uint64_t address)
{
    struct area *m = code_at(p, address - 1);
    address &= (UINT64_C(1) << 48) - 1;
    if (!m)
        return address | (uint64_t)SAMPLE_EPOCH << 48;
    if (!m->known) {
        struct module *module = vec_push(&p->target->profile.modules);
        *module = (struct module){.start = m->start,
                                  .end = m->end,
                                  .bias = m->bias,
                                  .epoch = m->epoch,
                                  .path = xstrdup(m->file->path),
                                  .build_id_size = m->file->build_id_size};
        memcpy(module->build_id, m->file->build_id, sizeof module->build_id);
        m->known = true;
    }
    return address | (uint64_t)m->epoch << 48;
}

uint32_t stack_of(struct samples *s, struct process *p, const struct perf_record *r)
{
    struct stack_tree *tree = &p->target->stacks;
    uint32_t count = 0, node = 0;
    enum copied_end end = COPIED_LOST;
    if (r->registers.known) {
        if (!p->rules)
            p->rules = xcalloc(1, sizeof *p->rules);
        struct sampled_space space = {.copied = {.space = {.find = find_tables},
                                                 .rules = p->rules,
                                                 .bytes = r->stack,
                                                 .start = r->registers.value[ARCH_REG_SP],
                                                 .size = r->stack_size},
                                      .process = p};
        count = copied_walk(&space.copied, &r->registers, s->addresses, FRAMES_MAX, &end);
    } else { /* a 32-bit program, say */
        s->addresses[count++] = r->registers.value[ARCH_REG_PC] + 1;
    }
    if (end != COPIED_WHOLE)
        node =
            stack_tree_child(tree, 0, end == COPIED_TRUNCATED ? NODE_TRUNCATED : NODE_INCOMPLETE);
    while (count--)
        node = stack_tree_child(tree, node, node_address(p, s->addresses[count]));
    return node;
}
