/*
 * From registers and a copy of the stack to a node of the tree (counting/sampled_tree.h);
 * unwind/copied_stack.h unwinds.
 */
#include "collect/sampling/samples_state.h"

#include <stddef.h>
#include <string.h>

#include "collect/proc/own_mappings.h"
#include "collect/sampling/waiting_threads.h"
#include "unwind/copied_stack.h"

#define FP_SEARCHED    4096  /* bytes of a frame in which a frame pointer is searched for */
#define EPILOGUE_MOST  32768 /* the largest frame without unwind information, in bytes */
#define SHALLOW_STACKS 256   /* so many shallow stacks of faults in a row make the copy smaller */
#define SHALLOW_MARGIN 64    /* bytes of room that a smaller copy has beyond the deepest */

struct sampled_space {
    struct copied_stack copied;
    struct process *process;
};

static struct sampled_map *code_at(const struct process *p, uint64_t address)
{
    struct sampled_map *m = sampled_maps_find(&p->mappings, address);
    return m && m->file ? m : NULL;
}

bool is_recorder(const struct process *p, uint64_t pc)
{
    const struct sampled_map *m = code_at(p, pc);
    return m && is_own_library(m->file->path);
}

static int find_tables(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    const struct sampled_space *space =
        (const void *)((const char *)self - offsetof(struct sampled_space, copied.space));
    const struct sampled_map *m = code_at(space->process, address);
    out->epoch = 0; /* the rules are dropped when code is unmapped */
    return m && code_file_tables(m->file, m->bias, &out->cfi) ? 0 : -1;
}

/* Is the word a return address after a call, in the code of a file? */
static bool read_call(const struct process *p, uint64_t address, uint8_t code[ARCH_CALL_LONGEST])
{
    return code_at(p, address - 1) &&
           waiting_threads_read_code(p->pid, address - ARCH_CALL_LONGEST, code,
                                     ARCH_CALL_LONGEST) &&
           arch_is_call(code);
}

static enum step_call call_at(const struct unwind_space *self, uint64_t address, uint64_t callee)
{
    const struct sampled_space *space =
        (const void *)((const char *)self - offsetof(struct sampled_space, copied.space));
    const struct process *p = space->process;
    uint8_t code[ARCH_CALL_LONGEST], begin[ARCH_PROLOGUE];
    uint64_t target;
    if (!read_call(p, address, code))
        return CALL_NONE;
    if (!arch_calls_around(code, address, callee, &target))
        return CALL_ANY;
    return code_at(p, target) && waiting_threads_read_code(p->pid, target, begin, sizeof begin) &&
                   arch_keeps_frame(begin)
               ? CALL_FRAMED
               : CALL_BARE;
}

/* Results are kept: the process may be gone when its last samples are processed. */
static bool epilogue_at(const struct unwind_space *self, uint64_t address,
                        struct arch_epilogue *out)
{
    const struct sampled_space *space =
        (const void *)((const char *)self - offsetof(struct sampled_space, copied.space));
    struct process *p = space->process;
    uint8_t code[ARCH_CALL_LONGEST + ARCH_EPILOGUE_LONGEST] = {0};
    const struct sampled_map *m = code_at(p, address - 1);
    if (!m)
        return false;
    uint64_t from = address - ARCH_CALL_LONGEST, to = address + ARCH_EPILOGUE_LONGEST;
    from = from < m->start ? m->start : from; /* nothing may be mapped before it */
    to = to > m->end ? m->end : to;
    uint32_t known = map_get(&p->epilogues, address);
    if (waiting_threads_read_code(p->pid, from, code + (from + ARCH_CALL_LONGEST - address),
                                  to - from)) {
        bool found = arch_is_call(code) && arch_epilogue(code + ARCH_CALL_LONGEST, out) &&
                     out->size < EPILOGUE_MOST;
        if (found)
            *map_at(&p->epilogues, address) = out->size << 16 | (out->fp & 0xffff);
        return found;
    }
    *out = (struct arch_epilogue){known >> 16,
                                  (known & 0xffff) == 0xffff ? UINT32_MAX : (known & 0xffff)};
    return known != MAP_NONE;
}

uint64_t node_address(struct process *p, uint64_t address)
{
    struct sampled_map *m = code_at(p, address - 1);
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

static uint32_t stack_node(struct samples *s, struct process *p, uint32_t count,
                           enum copied_end end)
{
    struct sampled_tree *tree = &p->target->sampled.stacks;
    uint32_t node = 0;
    if (end != COPIED_WHOLE)
        node =
            sampled_tree_child(tree, 0, end == COPIED_TRUNCATED ? NODE_TRUNCATED : NODE_INCOMPLETE);
    while (count--)
        node = sampled_tree_child(tree, node, node_address(p, s->addresses[count]));
    return node;
}

static int read_code(const struct unwind_space *self, uint64_t address, uint64_t *out)
{
    const struct sampled_space *space =
        (const void *)((const char *)self - offsetof(struct sampled_space, copied.space));
    return waiting_threads_read_code(space->process->pid, address, (uint8_t *)out, sizeof *out)
               ? 0
               : -1;
}

static struct sampled_space space_of(struct process *p, const struct arch_registers *r,
                                     const uint8_t *stack, uint64_t size)
{
    if (!p->rules)
        p->rules = xcalloc(1, sizeof *p->rules);
    return (struct sampled_space){.copied = {.space = {.find = find_tables,
                                                       .code = read_code,
                                                       .call = call_at,
                                                       .epilogue = epilogue_at},
                                             .rules = p->rules,
                                             .bytes = stack,
                                             .start = r->value[ARCH_REG_SP],
                                             .size = size},
                                  .process = p};
}

/* Counts how often the copied part of the stack was too short. If that is more than one in a
 * hundred, asks for a larger copy. */
static void note_end(struct samples *s, const struct perf_record *r, enum copied_end end)
{
    if (r->kind != PERF_CPU || r->stack_room != perf_copied(&s->perf))
        return; /* from before the copy became larger */
    s->copied++;
    s->cut += end == COPIED_TRUNCATED && r->stack_size == r->stack_room;
    if (s->cut * 100 > s->copied && perf_copy_more(&s->perf))
        s->copied = s->cut = 0;
}

/*
 * Most bursts of faults come from shallow stacks, and the copy is most of what they cost. So the
 * copy becomes smaller when many stacks in a row needed much less. If one of them is too deep
 * later, the copy becomes large for good.
 */
static void note_depth(struct samples *s, const struct perf_record *r, uint64_t needed, bool cut)
{
    if (s->was_deep || s->perf.options.all || r->stack_room != perf_fault_copied(&s->perf))
        return;
    if (cut && s->perf.fault_copy) {
        s->was_deep = true;
        perf_copy_faults(&s->perf, UINT64_MAX);
        return;
    }
    s->deepest = needed > s->deepest ? needed : s->deepest;
    if (++s->shallow < SHALLOW_STACKS)
        return;
    if (!s->perf.fault_copy)
        perf_copy_faults(&s->perf, s->deepest + SHALLOW_MARGIN);
    s->shallow = 0;
    s->deepest = 0;
}

/* Is the kernel in the middle of exec? Then the registers are those of the old program, whose code
 * and stack no longer exist. */
static bool is_executing(const struct process *p, const struct perf_record *r)
{
    return r->in_kernel && !r->stack_size &&
           !sampled_maps_find(&p->mappings, r->registers.value[ARCH_REG_PC]);
}

/* *needed: how many bytes of the copy were used. */
static uint32_t walk_sample(struct samples *s, struct process *p, const struct perf_record *r,
                            enum copied_end *end, uint64_t *needed)
{
    uint32_t count = 0;
    *end = COPIED_LOST;
    *needed = r->stack_size;
    if (r->registers.known && is_executing(p, r)) {
        *end = COPIED_WHOLE;
    } else if (r->registers.known) {
        struct sampled_space space = space_of(p, &r->registers, r->stack, r->stack_size);
        count = copied_walk(&space.copied, &r->registers, s->addresses, FRAMES_MAX, end);
        uint64_t depth = space.copied.end_sp - r->registers.value[ARCH_REG_SP];
        if (*end == COPIED_WHOLE && depth < *needed)
            *needed = depth;
    } else if (!r->in_kernel) { /* for example, a 32-bit program */
        s->addresses[count++] = r->registers.value[ARCH_REG_PC] + 1;
    } else { /* for example, at the end of a process: nothing of the program is left */
        *end = COPIED_WHOLE;
    }
    return count;
}

uint32_t kernel_stack(struct process *p, uint32_t stack)
{
    return sampled_tree_child(&p->target->sampled.stacks, stack, NODE_KERNEL);
}

uint32_t stack_of(struct samples *s, struct process *p, const struct perf_record *r)
{
    enum copied_end end;
    uint64_t needed;
    uint32_t count = walk_sample(s, p, r, &end, &needed);
    if (r->registers.known)
        note_end(s, r, end);
    uint32_t node = stack_node(s, p, count, end);
    return r->in_kernel && r->kind == PERF_CPU ? kernel_stack(p, node) : node;
}

uint32_t stack_of_fault(struct samples *s, struct process *p, const struct perf_record *r,
                        bool *cut)
{
    enum copied_end end;
    uint64_t needed;
    uint32_t count = walk_sample(s, p, r, &end, &needed);
    *cut = end == COPIED_TRUNCATED && count < FRAMES_MAX && r->stack_size == r->stack_room;
    note_depth(s, r, needed, *cut);
    return stack_node(s, p, count, end);
}

/* --- waiting threads -------------------------------------------------------------------------- */

static uint64_t word_at(const struct waiting_thread *b, uint64_t address)
{
    uint64_t word = 0;
    memcpy(&word, b->stack + (address - b->registers.value[ARCH_REG_SP]), sizeof word);
    return word;
}

static uint64_t function_at(const struct sampled_space *space, uint64_t address)
{
    struct unwind_module module;
    struct cfi_row row;
    return find_tables(&space->copied.space, address, &module) == 0 &&
                   cfi_row(&module.cfi, address, &row) == 0
               ? row.function
               : 0;
}

bool is_same_function(struct process *p, uint64_t a, uint64_t b)
{
    const struct sampled_space space = {.process = p};
    uint64_t function = function_at(&space, NODE_PC(a) - 1);
    return function && function == function_at(&space, NODE_PC(b) - 1);
}

/* Can this be the return address of a call of the function: a direct call, through a stub without a
 * name, or through a pointer? */
static bool is_call_of(const struct sampled_space *space, uint64_t address, uint64_t function)
{
    uint8_t code[ARCH_CALL_LONGEST];
    uint64_t called;
    if (!read_call(space->process, address, code))
        return false;
    if (!arch_call_target(code, address, &called))
        return true; /* through a pointer */
    return called == function || function_at(space, called) != called;
}

/* How much stack space a function reserves at its beginning; 0: none is seen. What earlier calls
 * left there looks like frames. */
static uint64_t frame_room(pid_t pid, uint64_t function)
{
    uint8_t code[ARCH_PROLOGUE];
    if (!function || !waiting_threads_read_code(pid, function, code, sizeof code))
        return 0;
    return arch_frame_room(code, FP_SEARCHED);
}

/*
 * The kernel reports the pc and sp of a waiting thread, but not its frame pointer. If a function
 * needs the frame pointer, and no function that it called has saved it, it is computed from the
 * function's first instructions, or else searched for: [fp + 8] must be the return address of a
 * call of this function, and the walk must reach the outermost frame.
 */
static uint32_t walk_blocked(struct samples *s, struct process *p, const struct waiting_thread *b,
                             enum copied_end *end)
{
    struct arch_registers r = b->registers;
    struct sampled_space space = space_of(p, &r, b->stack, b->size);
    uint32_t count = copied_walk(&space.copied, &r, s->addresses, FRAMES_MAX, end);
    if (*end == COPIED_WHOLE || !space.copied.wants_fp)
        return count;
    uint64_t from = space.copied.end_sp, last = r.value[ARCH_REG_SP] + b->size;
    uint64_t function = function_at(&space, space.copied.end_pc - 1);
    uint64_t end_fp = from + FP_SEARCHED < last - 16 ? from + FP_SEARCHED : last - 16;
    for (uint64_t fp = from + frame_room(p->pid, function) / 8 * 8; fp <= end_fp; fp += 8) {
        if (!is_call_of(&space, arch_return_address(word_at(b, fp + 8)), function))
            continue;
        r.value[ARCH_REG_FP] = fp;
        r.known |= ARCH_BIT(ARCH_REG_FP);
        uint32_t found = copied_walk(&space.copied, &r, s->addresses, FRAMES_MAX, end);
        if (*end == COPIED_WHOLE)
            return found;
    }
    r = b->registers;
    return copied_walk(&space.copied, &r, s->addresses, FRAMES_MAX, end);
}

uint32_t stack_of_blocked(struct samples *s, struct process *p, pid_t tid, bool *ours)
{
    struct waiting_thread b;
    enum copied_end end;
    if (!waiting_threads_read(&b, p->pid, tid))
        return 0;
    uint32_t count = walk_blocked(s, p, &b, &end);
    *ours = is_recorder(p, b.registers.value[ARCH_REG_PC]);
    return stack_node(s, p, count, end);
}
