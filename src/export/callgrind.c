/*
 * callgrind: the text format of valgrind's call-graph profiler, which callgrind_annotate,
 * KCachegrind and QCachegrind open.
 *
 * It holds functions with their lines, and the cost of each, its own and through the functions that
 * it called, for several metrics at once. It loses stacks beyond caller and callee, threads and
 * times, and in differences whatever shrank, because costs are not negative.
 *
 * A recursive function would be charged twice. So each further occurrence on a stack is a function
 * of its own, f'2, as with valgrind's --separate-recs. Readers take the calls of a function as all
 * that it has, so functions that are outermost in some stacks need a caller too: [all]. The number
 * of calls is not known: "calls=" has the number of allocations, because readers need a number
 * other than 0.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "model/imported.h"

#define COSTS (2 * STACK_COLUMNS)
#define ROOT  "[all]"

static const char *const event_names[METRICS][2] = {
    [METRIC_LIVE] = {"LiveBytes", "LiveBlocks"},
    [METRIC_TOTAL] = {"TotalBytes", "Allocations"},
    [METRIC_PEAK] = {"PeakBytes", "PeakBlocks"},
    [METRIC_SITEPEAK] = {"SitePeakBytes", "SitePeakBlocks"},
    [METRIC_LARGEST] = {"LargestBytes", "LargestBlocks"},
    [METRIC_TEMPORARY] = {"TemporaryBytes", "Temporaries"},
    [METRIC_MAPPED] = {"MappedBytes", "Mappings"},
    [METRIC_POOL] = {"PoolBytes", "PoolBlocks"},
    [METRIC_GPU] = {"GpuBytes", "GpuBlocks"},
    [METRIC_TENSOR] = {"TensorBytes", "TensorBlocks"},
    [METRIC_CPU] = {"CpuNs", "Samples"},
    [METRIC_FAULTS] = {"FaultBytes", "Faults"},
    [METRIC_UNTOUCHED] = {"UntouchedBytes", "UntouchedBlocks"},
    [METRIC_TOUCHED] = {"TouchedBytes", "Touches"},
    [METRIC_WALL] = {"WallNs", "Times"},
    [METRIC_WAITING] = {"WaitingNs", "Waits"},
    [METRIC_SAMPLES] = {"Events", "Samples"},
};

/* A function at a recursion level. */
struct function {
    uint32_t name, module, file; /* indexes into frames.strings */
    uint32_t level;
};

/* The cost of a function at a line, its own or through one of its callees. */
struct cost {
    uint32_t function, line;
    uint32_t callee, callee_line; /* CALL_NONE: its own */
    uint64_t values[COSTS];
};

struct callgrind {
    const struct stack_table *table;
    VEC(struct function) functions;
    VEC(struct cost) costs;
    VEC(uint32_t) next_function, next_cost; /* the next one with the same hash */
    struct map function_index, cost_index;
    uint32_t *function_of; /* node of merged -> function */
    uint32_t root;         /* the function that calls the outermost ones */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint32_t function_add(struct callgrind *c, const struct function *f)
{
    uint64_t hash = mix(mix(mix(f->name, f->module), f->file), f->level);
    uint32_t *head = map_at(&c->function_index, hash);
    for (uint32_t i = *head; i != MAP_NONE; i = c->next_function.items[i])
        if (memcmp(&c->functions.items[i], f, sizeof *f) == 0)
            return i;
    *vec_push(&c->next_function) = *head;
    *vec_push(&c->functions) = *f;
    return *head = (uint32_t)c->functions.count - 1;
}

static struct cost *cost_at(struct callgrind *c, uint32_t function, uint32_t line, uint32_t callee,
                            uint32_t callee_line)
{
    uint32_t *head = map_at(&c->cost_index, mix(mix(mix(function, line), callee), callee_line));
    for (uint32_t i = *head; i != MAP_NONE; i = c->next_cost.items[i]) {
        struct cost *k = &c->costs.items[i];
        if (k->function == function && k->line == line && k->callee == callee &&
            k->callee_line == callee_line)
            return k;
    }
    *vec_push(&c->next_cost) = *head;
    *head = (uint32_t)c->costs.count;
    struct cost *k = vec_push(&c->costs);
    *k = (struct cost){
        .function = function, .line = line, .callee = callee, .callee_line = callee_line};
    return k;
}

/* --- functions with their level --------------------------------------------------------------- */

/* Calls are walked depth first, and the functions on the current path are counted. */
static void find_functions(struct callgrind *c)
{
    const struct call_tree *t = &c->table->tree;
    const struct merged *m = &c->table->merged;
    VEC(uint32_t) on_path = {0}; /* number of calls on the current path, by level-1 function */
    uint32_t *first = xcalloc(t->parent.count, sizeof *first); /* call -> level-1 function */
    struct call_walk walk = {0};
    c->function_of = xcalloc(m->parent.count, sizeof *c->function_of);
    c->root = function_add(c, &(struct function){.level = 0});
    for (uint32_t call = 1; call < t->parent.count; call++) {
        for (uint32_t left; (left = call_walk_leave(&walk, t, call)) != CALL_NONE;)
            on_path.items[first[left]]--;
        const struct call_frame *f = &c->table->frames.frames.items[t->frame.items[call]];
        struct function one = {f->name, f->module, f->file, 1};
        first[call] = function_add(c, &one);
        while (on_path.count < c->functions.count)
            *vec_push(&on_path) = 0;
        one.level = ++on_path.items[first[call]];
        c->function_of[m->of_call[call]] = function_add(c, &one);
    }
    vec_release(&walk.path);
    vec_release(&on_path);
    free(first);
}

/* --- costs ------------------------------------------------------------------------------------ */

static uint32_t line_of(const struct callgrind *c, uint32_t node)
{
    return c->table->frames.frames.items[c->table->merged.key.items[node]].line;
}

static void add_costs(struct callgrind *c, struct value *const *own, uint64_t *summary)
{
    const struct merged *m = &c->table->merged;
    size_t nodes = m->parent.count, columns = c->table->column_count;
    uint64_t *below = xcalloc(nodes * columns * 2, sizeof *below);
    for (size_t n = nodes; n-- > 1;) {
        uint64_t *sum = &below[n * columns * 2], *above = &below[m->parent.items[n] * columns * 2];
        uint64_t self[COSTS], any_self = 0, any = 0;
        for (size_t i = 0; i < columns; i++) {
            self[2 * i] = own[i][n].amount > 0 ? (uint64_t)own[i][n].amount : 0;
            self[2 * i + 1] = own[i][n].count > 0 ? (uint64_t)own[i][n].count : 0;
        }
        for (size_t k = 0; k < 2 * columns; k++) {
            sum[k] += self[k];
            above[k] += sum[k];
            summary[k] += self[k];
            any_self |= self[k];
            any |= sum[k];
        }
        uint32_t parent = m->parent.items[n];
        uint32_t caller = parent ? c->function_of[parent] : c->root;
        struct cost *cost;
        if (any_self) {
            cost = cost_at(c, c->function_of[n], line_of(c, (uint32_t)n), CALL_NONE, 0);
            for (size_t k = 0; k < 2 * columns; k++)
                cost->values[k] += self[k];
        }
        if (any) {
            cost = cost_at(c, caller, parent ? line_of(c, parent) : 0, c->function_of[n],
                           line_of(c, (uint32_t)n));
            for (size_t k = 0; k < 2 * columns; k++)
                cost->values[k] += sum[k];
        }
    }
    free(below);
}

static int by_function(const void *pa, const void *pb)
{
    const struct cost *a = pa, *b = pb;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if ((a->callee == CALL_NONE) != (b->callee == CALL_NONE))
        return a->callee == CALL_NONE ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    return (a->callee_line > b->callee_line) - (a->callee_line < b->callee_line);
}

/* --- text ------------------------------------------------------------------------------------- */

/* Writes a name in one line: "(3) name" the first time, "(3)" from then on. */
static void put_name(struct strbuf *out, const char *key, bool *said, uint32_t number,
                     const char *text, uint32_t level)
{
    strbuf_printf(out, "%s=(%" PRIu32 ")", key, number + 1);
    if (!said[number]) {
        strbuf_putc(out, ' ');
        for (const char *s = *text ? text : "???"; *s; s++)
            strbuf_putc(out, (unsigned char)*s < ' ' ? ' ' : *s);
        if (level > 1)
            strbuf_printf(out, "'%" PRIu32, level);
        said[number] = true;
    }
    strbuf_putc(out, '\n');
}

struct said {
    bool *files, *objects, *functions;
};

static void put_function(const struct callgrind *c, struct strbuf *out, const struct said *said,
                         uint32_t number, bool called)
{
    const struct function *f = &c->functions.items[number];
    const struct frame_table *t = &c->table->frames;
    const char *module = f->module ? frame_table_string(t, f->module) : "";
    const char *file = f->file ? frame_table_string(t, f->file) : "";
    put_name(out, called ? "cob" : "ob", said->objects, f->module, module, 1);
    put_name(out, called ? "cfi" : "fl", said->files, f->file, file, 1);
    put_name(out, called ? "cfn" : "fn", said->functions, number,
             f->level ? frame_table_string(t, f->name) : ROOT, f->level);
}

/* Amounts are at even positions, each followed by its count; unknown counts are left out. */
static size_t cost_step(const struct stack_table *t)
{
    return known_counts(t->profile, t->columns[0].metric) ? 1 : 2;
}

static void put_costs(struct strbuf *out, const struct cost *k, size_t count, size_t step)
{
    strbuf_u64(out, k->line);
    for (size_t i = 0; i < count; i += step) {
        strbuf_putc(out, ' ');
        strbuf_u64(out, k->values[i]);
    }
    strbuf_putc(out, '\n');
}

static void put_all(struct export *e, struct callgrind *c)
{
    size_t strings = c->table->frames.strings.strings.count + 1, count = 2 * c->table->column_count;
    struct said said = {xcalloc(strings, 1), xcalloc(strings, 1),
                        xcalloc(c->functions.count + 1, 1)};
    uint32_t current = CALL_NONE;
    if (c->costs.count)
        qsort(c->costs.items, c->costs.count, sizeof *c->costs.items, by_function);
    for (size_t i = 0; i < c->costs.count; i++) {
        const struct cost *k = &c->costs.items[i];
        if (k->function != current) {
            strbuf_putc(e->out, '\n');
            put_function(c, e->out, &said, current = k->function, false);
        }
        if (k->callee != CALL_NONE) {
            put_function(c, e->out, &said, k->callee, true);
            uint64_t calls = k->values[1];
            for (size_t v = 3; !calls && v < count; v += 2)
                calls = k->values[v];
            strbuf_printf(e->out, "calls=%" PRIu64 " %" PRIu32 "\n", calls ? calls : 1,
                          k->callee_line);
        }
        put_costs(e->out, k, count, cost_step(c->table));
        report_flush(e->sink, e->out);
    }
    free(said.files);
    free(said.objects);
    free(said.functions);
}

static void put_header(struct export *e, const struct stack_table *t, const uint64_t *summary)
{
    struct strbuf command = {0};
    strbuf_printf(e->out, "# callgrind format\nversion: 1\ncreator: tidemark %s\n",
                  TIDEMARK_VERSION);
    profile_command(t->profile, &command);
    for (size_t i = 0; i < command.size; i++)
        if ((unsigned char)command.data[i] < ' ')
            command.data[i] = ' ';
    if (!profile_lacks(t->profile, UNKNOWN_PROCESS))
        strbuf_printf(e->out, "pid: %" PRIu32 "\n", t->profile->pid);
    strbuf_printf(e->out, "cmd: %s\npart: 1\n\npositions: line\nevents:", command.data);
    for (size_t i = 0; i < 2 * t->column_count; i += cost_step(t))
        strbuf_printf(e->out, " %s", event_names[t->columns[i / 2].metric][i % 2]);
    strbuf_puts(e->out, "\nsummary:");
    for (size_t i = 0; i < 2 * t->column_count; i += cost_step(t))
        strbuf_printf(e->out, " %" PRIu64, summary[i]);
    strbuf_puts(e->out, "\n");
    strbuf_release(&command);
}

int export_callgrind(struct export *e, struct err *err)
{
    struct stack_table table;
    struct callgrind c = {.table = &table};
    struct value *own[STACK_COLUMNS];
    uint64_t summary[COSTS] = {0};
    int code = export_stacks(e, &table, err);
    if (code)
        return code;
    for (size_t i = 0; i < table.column_count; i++) {
        own[i] = stack_table_own(&table, i);
        export_note_shrunk(e, "callgrind", &table, i, own[i]);
    }
    find_functions(&c);
    add_costs(&c, own, summary);
    put_header(e, &table, summary);
    put_all(e, &c);
    for (size_t i = 0; i < table.column_count; i++)
        free(own[i]);
    vec_release(&c.functions);
    vec_release(&c.costs);
    vec_release(&c.next_function);
    vec_release(&c.next_cost);
    map_release(&c.function_index);
    map_release(&c.cost_index);
    free(c.function_of);
    stack_table_release(&table);
    return 0;
}
