#include "model/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/path.h"
#include "base/text.h"
#include "model/call_paths.h"
#include "model/frame_cache.h"
#include "model/function_name.h"
#include "model/suppress_presets.h"
#include "model/rust_std.h"

#define FEW_FRAMES 65536 /* initial room */

void frame_table_init(struct frame_table *t, const struct recording *r, const struct profile *p,
                      const struct stack_filter *filter)
{
    if (frame_cache_take(t, r, p, filter))
        return;
    *t = (struct frame_table){
        .recording = r, .profile = p, .filter = filter, .key = frame_cache_key(r, filter)};
    if (t->key)
        t->patterns = frame_cache_patterns(filter);
    if (filter && !filter->no_defaults)
        recorded_filter_take(&t->recorded, r, filter);
    if (filter && filter->match)
        comparable_names_init(&t->comparable, r, p, filter->match);
    if (filter && filter->presets)
        presets_add(&t->presets);
    t->run_of = xmalloc((p->nodes.count + 1) * sizeof *t->run_of);
    memset(t->run_of, 0xff, (p->nodes.count + 1) * sizeof *t->run_of);
    size_t count = r->strings.strings.count + 1;
    t->texts = xmalloc(count * sizeof *t->texts);
    t->functions = xmalloc(count * sizeof *t->functions);
    for (size_t i = 0; i < count; i++)
        t->texts[i].file = t->texts[i].module = t->functions[i].name = MAP_NONE;
    strpool_add(&t->strings, ""); /* so that 0 means unknown */
    module_index_init(&t->modules, p);
    map_reserve(&t->addresses, p->symbols.count);
    map_reserve(&t->index, p->frames.count < FEW_FRAMES ? p->frames.count : FEW_FRAMES);
}

void frame_table_free(struct frame_table *t)
{
    recorded_filter_release(&t->recorded);
    suppressions_release(&t->presets);
    comparable_names_release(&t->comparable);
    strpool_release(&t->strings);
    vec_release(&t->frames);
    vec_release(&t->next);
    map_release(&t->index);
    vec_release(&t->list);
    vec_release(&t->runs);
    map_release(&t->addresses);
    module_index_release(&t->modules);
    free(t->texts);
    free(t->functions);
    free(t->run_of);
    free(t->key);
    free(t->patterns);
    if (t->paths)
        call_paths_release(t->paths);
    free(t->paths);
    *t = (struct frame_table){0};
}

void frame_table_release(struct frame_table *t)
{
    if (t->key)
        frame_cache_give(t);
    else
        frame_table_free(t);
}

/* A hash to find equal frames. */
static uint64_t frame_hash(const struct call_frame *f)
{
    uint32_t words[] = {f->name, f->module, f->file, f->line, (uint32_t)f->kind << 16 | f->flags};
    return XXH3_64bits(words, sizeof words);
}

static uint32_t intern(struct frame_table *t, struct call_frame f)
{
    uint32_t *head = map_at(&t->index, frame_hash(&f));
    for (uint32_t n = *head; n != MAP_NONE; n = t->next.items[n]) {
        const struct call_frame *k = &t->frames.items[n];
        if (k->name == f.name && k->module == f.module && k->file == f.file && k->line == f.line &&
            k->kind == f.kind && k->flags == f.flags)
            return n;
    }
    uint32_t number = (uint32_t)t->frames.count;
    *vec_push(&t->frames) = f;
    *vec_push(&t->next) = *head;
    *head = number;
    return number;
}

/* The flags of each string of a table according to the question's patterns, computed once for
 * each. */
struct pattern_answers {
    const struct stack_filter *filter;
    const struct recorded_filter *recorded;
    const struct strpool *strings;
    uint16_t *flags; /* PATTERN_NOT_ASKED: not computed yet */
};

#define PATTERN_FLAGS     (CALL_WITHIN | CALL_IGNORED)
#define PATTERN_NOT_ASKED UINT16_MAX

static uint16_t answer_for(struct pattern_answers *s, uint32_t name)
{
    if (s->flags[name] == PATTERN_NOT_ASKED) {
        const char *text = strpool_get(s->strings, name);
        s->flags[name] = stack_filter_name_flags(s->filter, s->recorded, text);
    }
    return s->flags[name];
}

void frame_table_set_patterns(struct frame_table *t, const struct stack_filter *filter)
{
    size_t strings = t->recording->strings.strings.count;
    struct pattern_answers answers = {
        .filter = filter,
        .recorded = &t->recorded,
        .strings = &t->strings,
        .flags = xmalloc((t->strings.strings.count + 1) * sizeof *answers.flags)};
    memset(answers.flags, 0xff, (t->strings.strings.count + 1) * sizeof *answers.flags);
    map_release(&t->index);
    t->filter = filter;
    for (uint32_t i = 0; i < t->frames.count; i++) {
        struct call_frame *f = &t->frames.items[i];
        f->flags &= (uint16_t)~PATTERN_FLAGS;
        if (!f->unmatched)
            f->flags |= answer_for(&answers, f->name);
        uint32_t *head = map_at(&t->index, frame_hash(f));
        t->next.items[i] = *head;
        *head = i;
    }
    for (size_t i = 0; i < strings; i++) {
        struct renamed *known = &t->functions[i];
        known->flags &= (uint16_t)~PATTERN_FLAGS;
        if (known->name != MAP_NONE && !(known->flags & CALL_ALLOCATOR))
            known->flags |= answer_for(&answers, known->name);
    }
    free(answers.flags);
    if (t->paths)
        call_paths_set_flags(t->paths, t);
}

uint32_t frame_table_marker(struct frame_table *t, const char *name)
{
    return intern(t, (struct call_frame){.name = strpool_add(&t->strings, name),
                                         .flags = CALL_MARKER,
                                         .unmatched = true});
}

static uint16_t pattern_flags(const struct frame_table *t, const char *name)
{
    return (uint16_t)(stack_filter_name_flags(t->filter, &t->recorded, name) |
                      (pattern_list_match(&t->filter->fold, name) ? CALL_DROPPED : 0));
}

/* The name after renaming, and the flags that the filter gives it. Patterns match the name before
 * --merge too: a filter that was given to run is not lost. */
static struct renamed examine(struct frame_table *t, const char *name)
{
    struct renamed out = {0};
    const struct stack_filter *filter = t->filter;
    struct strbuf other = {0}, comparable = {0};
    struct name_part bare = name_bare(name);
    if (name_part_is_allocator(bare))
        out.flags |= CALL_ALLOCATOR;
    if (name_part_is_std(bare))
        out.flags |= CALL_STD;
    if (name_part_is_gpu(bare))
        out.flags |= CALL_GPU;
    if (name_part_is_announcement(bare))
        out.flags |= CALL_DROPPED;
    if (filter && filter->match) {
        comparable_names_name(&t->comparable, &comparable, name);
        name = comparable.data;
        out.flags |= CALL_RENAMED;
    }
    bool has_patterns = filter && !(out.flags & CALL_ALLOCATOR);
    if (has_patterns)
        out.flags |= pattern_flags(t, name);
    if (filter && rename_list_apply(&filter->merge, name, &other)) {
        out.flags |= CALL_RENAMED;
        name = other.data;
        if (has_patterns)
            out.flags |= pattern_flags(t, name);
    }
    out.name = strpool_add(&t->strings, name);
    strbuf_release(&other);
    strbuf_release(&comparable);
    return out;
}

static struct renamed function_of(struct frame_table *t, uint32_t string)
{
    if (string >= t->recording->strings.strings.count)
        return examine(t, "[unknown]");
    if (t->functions[string].name == MAP_NONE)
        t->functions[string] = examine(t, strpool_get(&t->recording->strings, string));
    return t->functions[string];
}

static uint16_t kind_flags(const struct frame_table *t, enum frame_kind kind)
{
    if (!t->filter)
        return 0;
    bool python = kind == FRAME_PYTHON;
    return (t->filter->python_only && !python) || (t->filter->native_only && python) ? CALL_DROPPED
                                                                                     : 0;
}

/* Inlined functions of the standard library may lack their namespace, but their file shows it. */
static bool is_std_file(const char *path)
{
    return strstr(path, "/include/c++/") || strstr(path, "libstdc++-v3/") || rust_file_is_std(path);
}

/* python3.11, libpython3.11.so.1.0: Python frames say what is called there. */
static bool is_interpreter(const char *module)
{
    static const char digits[] = "0123456789";
    if (text_begins(module, "libpython"))
        return strspn(module + 9, digits) != 0;
    if (!text_begins(module, "python"))
        return false;
    return !module[6 + strspn(module + 6, "0123456789.")];
}

/* Functions of the recorder that call the program's, such as main: they would be in every stack. */
static bool is_recorder(const char *module)
{
    return strcmp(module, "libtidemark.so") == 0;
}

/* CUDA's runtime and driver, and the libraries of PyTorch that have its allocators. */
static bool is_gpu_library(const char *module)
{
    return text_begins(module, "libcudart.so") || text_begins(module, "libcuda.so") ||
           text_begins(module, "libc10.so") || text_begins(module, "libc10_cuda.so");
}

#define OWN_FLAGS (CALL_DROPPED | CALL_RECORDER)

static const struct path_text no_text;

static const struct path_text *file_text(struct frame_table *t, uint32_t string)
{
    if (string >= t->recording->strings.strings.count)
        return &no_text;
    struct path_text *text = &t->texts[string];
    if (text->file == MAP_NONE) {
        const char *path = strpool_get(&t->recording->strings, string);
        text->file = strpool_add(&t->strings, path);
        text->std_file = text->file && is_std_file(path);
    }
    return text;
}

static const struct path_text *module_text(struct frame_table *t, uint32_t string)
{
    if (string >= t->recording->strings.strings.count)
        return &no_text;
    struct path_text *text = &t->texts[string];
    if (text->module == MAP_NONE) {
        const char *base = path_base(strpool_get(&t->recording->strings, string));
        text->module = strpool_add(&t->strings, base);
        text->own = is_recorder(base);
        text->interpreter = is_interpreter(base);
        text->gpu = is_gpu_library(base);
    }
    return text;
}

static uint32_t resolved(struct frame_table *t, const struct frame *f, bool interpreter)
{
    struct renamed function = function_of(t, f->function);
    const struct path_text *module = module_text(t, f->module), *file = file_text(t, f->file);
    struct call_frame c = {.name = function.name,
                           .module = module->module,
                           .file = file->file,
                           .line = f->line,
                           .kind = (uint8_t)f->kind,
                           .unmatched = function.flags & CALL_ALLOCATOR};
    c.flags = function.flags | kind_flags(t, f->kind) | (module->own ? OWN_FLAGS : 0) |
              (module->gpu ? CALL_GPU : 0);
    if (f->kind == FRAME_PYTHON)
        c.flags = (uint16_t)((c.flags & ~(CALL_ALLOCATOR | CALL_STD | CALL_GPU)) | CALL_PYTHON);
    else
        c.interpreter = interpreter || module->interpreter;
    if (f->kind != FRAME_PYTHON && file->std_file)
        c.flags |= CALL_STD;
    if (c.file && t->filter && stack_filter_has_file(t->filter, frame_table_string(t, c.file)))
        c.flags |= CALL_IN_PATH;
    return intern(t, c);
}

const struct module *module_at(const struct profile *p, uint64_t address)
{
    uint64_t pc = NODE_PC(address) - 1;
    size_t at;
    BISECT(at, p->modules.count, p->modules.items[at].epoch <= NODE_EPOCH(address));
    while (at-- > 0)
        if (pc >= p->modules.items[at].start && pc < p->modules.items[at].end)
            return &p->modules.items[at];
    return NULL;
}

static const struct module *sorted_modules; /* qsort has no context */

static int by_start(const void *a, const void *b)
{
    uint64_t x = sorted_modules[*(const uint32_t *)a].start,
             y = sorted_modules[*(const uint32_t *)b].start;
    return (x > y) - (x < y);
}

void module_index_init(struct module_index *x, const struct profile *p)
{
    size_t count = p->modules.count;
    const struct module *m = p->modules.items;
    *x = (struct module_index){.profile = p, .order = xcalloc(count + 1, sizeof *x->order)};
    for (size_t i = 0; i < count; i++)
        x->order[i] = (uint32_t)i;
    sorted_modules = m;
    qsort(x->order, count, sizeof *x->order, by_start);
    for (size_t i = 1; i < count; i++)
        if (m[x->order[i]].start < m[x->order[i - 1]].end) {
            module_index_release(x);
            return;
        }
}

void module_index_release(struct module_index *x)
{
    free(x->order);
    x->order = NULL;
}

const struct module *module_index_at(const struct module_index *x, uint64_t address)
{
    const struct module *m = x->profile->modules.items;
    uint64_t pc = NODE_PC(address) - 1;
    size_t at;
    if (!x->order)
        return module_at(x->profile, address);
    BISECT(at, x->profile->modules.count, m[x->order[at]].start <= pc);
    if (!at)
        return NULL;
    m += x->order[at - 1];
    return pc < m->end && m->epoch <= NODE_EPOCH(address) ? m : NULL;
}

/* Is it part of Python's own library (json, pickle), which some builds have in the interpreter
 * itself? */
static bool is_python_library(const struct module *m)
{
    return m && m->path && strstr(m->path, "/lib-dynload/");
}

static uint32_t unresolved(struct frame_table *t, uint64_t address, const struct module *m)
{
    if (m && m->path && !*m->path)
        m = NULL; /* a module of model/combined_profile.h */
    const char *base = m && m->path ? path_base(m->path) : "[unknown]";
    uint64_t offset = NODE_PC(address) - (m ? m->bias : 0);
    char *text = xasprintf("%s+0x%" PRIx64, base, offset);
    struct renamed function = examine(t, text);
    free(text);
    struct call_frame c = {.name = function.name,
                           .module = m ? strpool_add(&t->strings, base) : 0,
                           .kind = FRAME_NATIVE,
                           .unmatched = function.flags & CALL_ALLOCATOR,
                           .interpreter = is_python_library(m) || (m && is_interpreter(base))};
    c.flags = function.flags | kind_flags(t, FRAME_NATIVE) | (is_recorder(base) ? OWN_FLAGS : 0);
    return intern(t, c);
}

/* The index of the run of an address. */
static uint32_t run_at(struct frame_table *t, uint64_t address)
{
    uint32_t *known = map_at(&t->addresses, address);
    if (*known != MAP_NONE)
        return *known;
    uint32_t number_of_run = *known = (uint32_t)t->runs.count;
    const struct profile *p = t->profile;
    struct frame_run run = {.first = (uint32_t)t->list.count};
    uint32_t symbols = map_get(&p->symbols, address);
    const struct module *m = NODE_IS_PYTHON(address) ? NULL : module_index_at(&t->modules, address);
    if (address == NODE_TRUNCATED || address == NODE_INCOMPLETE) {
        *vec_push(&t->list) =
            frame_table_marker(t, address == NODE_TRUNCATED ? "[cut]" : "[no unwind information]");
    } else if (address == NODE_KERNEL) {
        struct renamed kernel = examine(t, "[kernel]");
        *vec_push(&t->list) =
            intern(t, (struct call_frame){.name = kernel.name,
                                          .flags = kernel.flags | CALL_MARKER | CALL_KERNEL});
    } else if (symbols == MAP_NONE && NODE_IS_PYTHON(address)) {
        *vec_push(&t->list) = frame_table_marker(t, "[unknown Python code]");
    } else if (symbols != MAP_NONE && symbols + 1 < p->frame_runs.count) {
        uint32_t end = p->frame_runs.items[symbols + 1];
        for (uint32_t i = p->frame_runs.items[symbols]; i < end && i < p->frames.count; i++) {
            uint32_t number = resolved(t, &p->frames.items[i], is_python_library(m));
            *vec_push(&t->list) = number;
        }
    }
    if (t->list.count == run.first) {
        uint32_t number = unresolved(t, address, m);
        *vec_push(&t->list) = number;
    }
    run.count = (uint32_t)t->list.count - run.first;
    *vec_push(&t->runs) = run;
    return number_of_run;
}

struct frame_run frame_table_run(struct frame_table *t, uint32_t node)
{
    if (t->run_of[node] == MAP_NONE)
        t->run_of[node] = run_at(t, t->profile->nodes.items[node].address);
    return t->runs.items[t->run_of[node]];
}

bool frame_is_of_libc(const struct frame_table *t, const struct call_frame *f)
{
    static const char *const names[] = {"libc.so", "libc-2", "libpthread", "ld-linux", "ld-2"};
    const char *module = frame_table_string(t, f->module);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(module, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}
