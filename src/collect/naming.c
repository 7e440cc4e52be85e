#include "collect/naming.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "collect/areas.h"
#include "symbol/symbolizer.h"

/* One address of one file. */
struct job {
    uint32_t file;
    uint64_t address; /* in the ELF file */
};

struct file {
    char *path;
    uint8_t build_id[32];
    uint32_t build_id_size;
    struct symbol_file *symbols; /* the worker's */
};

struct naming {
    pthread_t worker;
    pthread_mutex_t lock; /* guards queue, files, closed, and the results */
    pthread_cond_t wake;
    VEC(struct job) queue;
    VEC(struct file *) files;
    bool closed;
    bool joined;
    bool in_turn;
    bool forked; /* in a copy of us: there is no worker */
    bool alone;  /* no thread could be had: all is done in the end */

    struct map results; /* (file, address) -> number of a run */
    VEC(struct frame) frames;
    VEC(uint32_t) runs;
    struct strpool strings;

    /* The owner's. */
    struct map queued; /* hash of (file, address) of all jobs so far */
    struct map file_index;
    struct {
        const char *path; /* a module's: it lives as long as we do */
        uint32_t file;
    } recent[8];

    /* The worker's until it is joined. */
    struct symbolizer *symbolizer;
};

static uint64_t job_key(struct job j)
{
    return (uint64_t)j.file << 48 ^ j.address;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Finds out without the lock, which may take long; files the result with it. */
static void resolve(struct naming *n, struct job j, struct file *file)
{
    const struct symbol_frame *frames;
    if (!file->symbols)
        file->symbols =
            symbolizer_file(n->symbolizer, file->path, file->build_id, file->build_id_size);
    size_t count = symbolizer_resolve(n->symbolizer, file->symbols, j.address, &frames);
    pthread_mutex_lock(&n->lock);
    *map_at(&n->results, job_key(j)) = (uint32_t)n->runs.count;
    *vec_push(&n->runs) = (uint32_t)n->frames.count;
    for (size_t i = 0; i < count; i++)
        *vec_push(&n->frames) =
            (struct frame){.function = strpool_add(&n->strings, frames[i].function),
                           .file = frames[i].file ? strpool_add(&n->strings, frames[i].file) : 0,
                           .line = frames[i].line,
                           .kind = frames[i].inlined ? FRAME_INLINED : FRAME_NATIVE};
    pthread_mutex_unlock(&n->lock);
}

static void *work(void *arg)
{
    struct naming *n = arg;
    if (!n->in_turn)
        setpriority(PRIO_PROCESS, 0, 19); /* on Linux: this thread; for good, if we are not root */
    pthread_mutex_lock(&n->lock);
    for (;;) {
        while (!n->queue.count && !n->closed)
            pthread_cond_wait(&n->wake, &n->lock);
        if (!n->queue.count)
            break;
        struct job *jobs = n->queue.items;
        size_t count = n->queue.count;
        memset(&n->queue, 0, sizeof n->queue);
        for (size_t i = 0; i < count; i++) {
            struct file *file = n->files.items[jobs[i].file];
            pthread_mutex_unlock(&n->lock);
            resolve(n, jobs[i], file);
            pthread_mutex_lock(&n->lock);
        }
        free(jobs);
    }
    pthread_mutex_unlock(&n->lock);
    return NULL;
}

struct naming *naming_new(bool in_turn)
{
    struct naming *n = xcalloc(1, sizeof *n);
    pthread_mutex_init(&n->lock, NULL);
    pthread_cond_init(&n->wake, NULL);
    n->symbolizer = symbolizer_new();
    n->in_turn = in_turn;
    strpool_add(&n->strings, "");
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes,
                              8 << 20); /* RLIMIT_STACK may be the program's and small */
    n->alone = pthread_create(&n->worker, &attributes, work, n) != 0;
    pthread_attr_destroy(&attributes);
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

/* The same file as the program's loader knows it. The kernel tells of samples' modules by the
 * files' own names, the loader by those of links to them (libstdc++.so.6): one library, one name.
 */
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

/* The file's number; files are told apart by path and build id. */
static uint32_t file_lookup(struct naming *n, const struct module *m)
{
    uint64_t key = 0xcbf29ce484222325u;
    for (const char *s = m->path; *s; s++)
        key = (key ^ (uint8_t)*s) * 0x100000001b3u;
    for (uint32_t i = 0; i < m->build_id_size; i++)
        key = (key ^ m->build_id[i]) * 0x100000001b3u;
    uint32_t *number = map_at(&n->file_index, key);
    if (*number == MAP_NONE) {
        struct file *f = xcalloc(1, sizeof *f);
        f->path = xstrdup(m->path);
        memcpy(f->build_id, m->build_id, sizeof f->build_id);
        f->build_id_size = m->build_id_size;
        pthread_mutex_lock(&n->lock);
        *number = (uint32_t)n->files.count;
        *vec_push(&n->files) = f;
        pthread_mutex_unlock(&n->lock);
    }
    return *number;
}

static uint32_t file_of(struct naming *n, const struct module *m)
{
    size_t place = (uintptr_t)m->path / 16 % (sizeof n->recent / sizeof *n->recent);
    if (n->recent[place].path != m->path) {
        n->recent[place].file = file_lookup(n, m);
        n->recent[place].path = m->path;
    }
    return n->recent[place].file;
}

/* NULL: no module covers it, and there is no job. */
static const struct module *job_of(struct naming *n, const struct profile *p, uint64_t address,
                                   struct job *job)
{
    const struct module *m =
        address > NODE_INCOMPLETE && !NODE_IS_PYTHON(address) ? module_of(p, address) : NULL;
    if (m)
        *job = (struct job){.file = file_of(n, m), .address = NODE_PC(address) - 1 - m->bias};
    return m;
}

void naming_add(struct naming *n, const struct profile *p, size_t first)
{
    if (first < p->nodes.count)
        naming_add_nodes(n, p, p->nodes.items + first, p->nodes.count - first);
}

void naming_add_nodes(struct naming *n, const struct profile *p, const struct node *nodes,
                      size_t count)
{
    VEC(struct job) jobs = {0};
    for (size_t i = 0; i < count; i++) {
        struct job job;
        if (!job_of(n, p, nodes[i].address, &job))
            continue;
        uint32_t *seen = map_at(&n->queued, job_key(job));
        if (*seen == MAP_NONE) {
            *seen = 0;
            *vec_push(&jobs) = job;
        }
    }
    if (jobs.count) {
        pthread_mutex_lock(&n->lock);
        for (size_t i = 0; i < jobs.count; i++)
            *vec_push(&n->queue) = jobs.items[i];
        pthread_cond_signal(&n->wake);
        pthread_mutex_unlock(&n->lock);
    }
    vec_release(&jobs);
}

void naming_wait(struct naming *n)
{
    if (n->joined)
        return;
    pthread_mutex_lock(&n->lock);
    n->closed = true;
    pthread_cond_signal(&n->wake);
    pthread_mutex_unlock(&n->lock);
    if (n->alone)
        work(n);
    else
        pthread_join(n->worker, NULL);
    n->joined = true;
}

void naming_hold(struct naming *n)
{
    pthread_mutex_lock(&n->lock);
}

void naming_alone(struct naming *n)
{
    n->symbolizer = symbolizer_new(); /* the worker's may be half way through something */
    for (size_t i = 0; i < n->files.count; i++)
        n->files.items[i]->symbols = NULL;
    n->forked = true;
}

void naming_go_on(struct naming *n)
{
    pthread_mutex_unlock(&n->lock);
}

/* A function without a name is called by its place: "libx.so.1+0x1234". */
static uint32_t put_place(struct strpool *strings, const char *module, uint64_t address)
{
    char *place = xasprintf("%s+0x%llx", module, (unsigned long long)address);
    uint32_t number = strpool_add(strings, place);
    free(place);
    return number;
}

static void put_run(struct naming *n, uint32_t run, struct job job, const char *module,
                    struct profile *p, struct strpool *strings)
{
    uint32_t end = run + 1 < n->runs.count ? n->runs.items[run + 1] : (uint32_t)n->frames.count;
    const char *file = base_name(n->files.items[job.file]->path);
    size_t size = strlen(file);
    for (uint32_t k = n->runs.items[run]; k < end; k++) {
        struct frame f = n->frames.items[k];
        const char *function = strpool_get(&n->strings, f.function);
        bool nameless =
            strncmp(function, file, size) == 0 && strncmp(function + size, "+0x", 3) == 0;
        f.function = nameless ? put_place(strings, module, strtoull(function + size + 1, NULL, 16))
                              : strpool_add(strings, function);
        f.module = strpool_add(strings, module);
        f.file = f.file ? strpool_add(strings, strpool_get(&n->strings, f.file)) : 0;
        *vec_push(&p->frames) = f;
    }
}

/* When all have their names: paths, too, are the loader's. */
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
    memset(n->recent, 0, sizeof n->recent); /* it knows modules by where their paths are */
}

void naming_fill(struct naming *n, struct profile *p, const struct python_codes *python,
                 struct strpool *strings)
{
    strpool_add(strings, "");
    for (size_t i = 1; i < p->nodes.count; i++) {
        uint64_t address = p->nodes.items[i].address;
        uint32_t *number = map_at(&p->symbols, address);
        struct job job;
        if (*number != MAP_NONE)
            continue;
        *number = (uint32_t)p->frame_runs.count;
        *vec_push(&p->frame_runs) = (uint32_t)p->frames.count;
        if (NODE_IS_PYTHON(address)) {
            if (python)
                *vec_push(&p->frames) = python_codes_frame(python, address, strings);
            continue;
        }
        const struct module *m = job_of(n, p, address, &job);
        if (!m)
            continue; /* an empty run: no module covers it */
        const char *module = base_name(as_loaded(p, m)->path);
        uint32_t run = map_get(&n->results, job_key(job));
        if (run == MAP_NONE && n->forked) {
            resolve(n, job, n->files.items[job.file]);
            run = map_get(&n->results, job_key(job));
        }
        if (run == MAP_NONE)
            *vec_push(&p->frames) =
                (struct frame){.function = put_place(strings, module, job.address),
                               .module = strpool_add(strings, module),
                               .kind = FRAME_NATIVE};
        else
            put_run(n, run, job, module, p, strings);
    }
    put_paths(n, p);
    *vec_push(&p->frame_runs) = (uint32_t)p->frames.count;
}

void naming_free(struct naming *n)
{
    if (!n)
        return;
    naming_wait(n);
    for (size_t i = 0; i < n->files.count; i++) {
        free(n->files.items[i]->path);
        free(n->files.items[i]);
    }
    symbolizer_free(n->symbolizer);
    vec_release(&n->files);
    vec_release(&n->queue);
    vec_release(&n->frames);
    vec_release(&n->runs);
    map_release(&n->queued);
    map_release(&n->file_index);
    map_release(&n->results);
    strpool_release(&n->strings);
    pthread_mutex_destroy(&n->lock);
    pthread_cond_destroy(&n->wake);
    free(n);
}
