#include "collect/naming/resolver.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "symbol/symbolizer.h"

#define HELPERS_MAX 8
#define TELL_NS     250000000
#define STACK_BYTES (8 << 20) /* RLIMIT_STACK may be the program's own, and small */

struct file {
    char *path;
    uint8_t build_id[32];
    uint32_t build_id_size;
    VEC(uint64_t) asked; /* addresses that no thread works on yet */
    bool busy;           /* a thread works on this file; only it uses the other fields */
    struct symbolizer *symbolizer;
    struct symbol_file *symbols;
};

struct resolver {
    pthread_t background;
    pid_t background_thread;
    pthread_mutex_t lock; /* protects everything below, and `asked` and `busy` of the files */
    pthread_cond_t news;
    VEC(struct file *) files;
    bool in_turn;
    bool has_background;
    bool background_works; /* the background thread works on a file */
    bool background_ended;
    bool closed; /* nothing more will be asked */
    bool finished;
    bool forked; /* we are a forked copy, which has no threads */

    struct map results; /* address -> index of a run of frames */
    VEC(struct frame) frames;
    VEC(uint32_t) runs;
    struct strpool strings;

    /* Used by the owner's thread only. */
    struct map asked; /* all addresses that were asked for */
    VEC(struct code_address) unsent;
    struct map file_index;
};

static uint64_t address_key(uint32_t file, uint64_t address)
{
    return (uint64_t)file << 48 ^ address;
}

/* --- working threads -------------------------------------------------------------------------- */

/* Looks the address up without the lock, because that may take long, and stores the result with
 * it. */
static void resolve(struct resolver *r, uint32_t number, struct file *file, uint64_t address)
{
    const struct symbol_frame *frames;
    if (!file->symbols) {
        file->symbolizer = symbolizer_new();
        file->symbols =
            symbolizer_file(file->symbolizer, file->path, file->build_id, file->build_id_size);
    }
    size_t count = symbolizer_resolve(file->symbolizer, file->symbols, address, &frames);
    pthread_mutex_lock(&r->lock);
    *map_at(&r->results, address_key(number, address)) = (uint32_t)r->runs.count;
    *vec_push(&r->runs) = (uint32_t)r->frames.count;
    for (size_t i = 0; i < count; i++)
        *vec_push(&r->frames) =
            (struct frame){.function = strpool_add(&r->strings, frames[i].function),
                           .file = frames[i].file ? strpool_add(&r->strings, frames[i].file) : 0,
                           .line = frames[i].line,
                           .kind = frames[i].inlined ? FRAME_INLINED : FRAME_NATIVE};
    pthread_mutex_unlock(&r->lock);
}

static void close_symbols(struct file *file)
{
    symbolizer_free(file->symbolizer);
    file->symbolizer = NULL;
    file->symbols = NULL;
}

/* The file with most to do: it takes longest, and others can be done at the same time. NULL: none
 * is free. */
static struct file *next_file(const struct resolver *r, uint32_t *number)
{
    struct file *most = NULL;
    for (size_t i = 0; i < r->files.count; i++) {
        struct file *f = r->files.items[i];
        if (f->busy || !f->asked.count || (most && f->asked.count <= most->asked.count))
            continue;
        most = f;
        *number = (uint32_t)i;
    }
    return most;
}

/* Call it with the lock, which is released during the work. `background`: stop as soon as the rest
 * is for other threads. */
static void work_on(struct resolver *r, struct file *file, uint32_t number, bool background)
{
    uint64_t *asked = file->asked.items;
    size_t count = file->asked.count, done = 0;
    memset(&file->asked, 0, sizeof file->asked);
    file->busy = true;
    while (done < count && !(background && r->closed)) {
        pthread_mutex_unlock(&r->lock);
        resolve(r, number, file, asked[done++]);
        pthread_mutex_lock(&r->lock);
    }
    if (file->symbols)
        symbol_file_discard_pages(file->symbols);
    for (; done < count; done++)
        *vec_push(&file->asked) = asked[done];
    file->busy = false;
    free(asked);
}

static void *work_in_background(void *arg)
{
    struct resolver *r = arg;
    uint32_t number = 0;
    if (!r->in_turn)
        /* On Linux this affects the calling thread only; it is final unless we are root. */
        setpriority(PRIO_PROCESS, 0, 19);
    pthread_mutex_lock(&r->lock);
    r->background_thread = (pid_t)syscall(SYS_gettid);
    while (!r->closed) {
        struct file *file = next_file(r, &number);
        if (!file) {
            pthread_cond_wait(&r->news, &r->lock);
            continue;
        }
        r->background_works = true;
        work_on(r, file, number, true);
        r->background_works = false;
        pthread_cond_broadcast(&r->news);
    }
    r->background_ended = true;
    pthread_cond_broadcast(&r->news);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* Does everything that is left. The file that the background thread works on is taken over when
 * that thread reaches a point where it can stop. */
static void *work_to_the_end(void *arg)
{
    struct resolver *r = arg;
    uint32_t number = 0;
    pthread_mutex_lock(&r->lock);
    for (struct file *file; (file = next_file(r, &number)) || r->background_works;) {
        if (file)
            work_on(r, file, number, false);
        else
            pthread_cond_wait(&r->news, &r->lock);
    }
    pthread_cond_broadcast(&r->news);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static bool start(pthread_t *thread, void *(*work)(void *), struct resolver *r)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    bool started = pthread_create(thread, &attributes, work, r) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

/* --- the owner's thread ----------------------------------------------------------------------- */

struct resolver *resolver_new(bool in_turn)
{
    struct resolver *r = xcalloc(1, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->news, NULL);
    r->in_turn = in_turn;
    strpool_add(&r->strings, "");
    r->has_background =
        /* If this fails, everything is done at the end. */
        start(&r->background, work_in_background, r);
    return r;
}

uint32_t resolver_file(struct resolver *r, const char *path, const uint8_t *build_id,
                       uint32_t build_id_size)
{
    uint64_t key = 0xcbf29ce484222325u;
    for (const char *s = path; *s; s++)
        key = (key ^ (uint8_t)*s) * 0x100000001b3u;
    for (uint32_t i = 0; i < build_id_size; i++)
        key = (key ^ build_id[i]) * 0x100000001b3u;
    uint32_t *number = map_at(&r->file_index, key);
    if (*number == MAP_NONE) {
        struct file *f = xcalloc(1, sizeof *f);
        f->path = xstrdup(path);
        if (build_id_size)
            memcpy(f->build_id, build_id, build_id_size);
        f->build_id_size = build_id_size;
        pthread_mutex_lock(&r->lock);
        *number = (uint32_t)r->files.count;
        *vec_push(&r->files) = f;
        pthread_mutex_unlock(&r->lock);
    }
    return *number;
}

const char *resolver_path(const struct resolver *r, uint32_t file)
{
    return r->files.items[file]->path;
}

void resolver_ask(struct resolver *r, struct code_address at)
{
    uint32_t *seen = map_at(&r->asked, address_key(at.file, at.address));
    if (*seen != MAP_NONE)
        return;
    *seen = 0;
    *vec_push(&r->unsent) = at;
}

void resolver_send(struct resolver *r)
{
    if (!r->unsent.count)
        return;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->unsent.count; i++)
        *vec_push(&r->files.items[r->unsent.items[i].file]->asked) = r->unsent.items[i].address;
    pthread_cond_broadcast(&r->news);
    pthread_mutex_unlock(&r->lock);
    r->unsent.count = 0;
}

/* Call it with the lock. */
static bool is_settled(const struct resolver *r)
{
    for (size_t i = 0; i < r->files.count; i++)
        if (r->files.items[i]->asked.count || r->files.items[i]->busy)
            return false;
    return true;
}

bool resolver_is_settled(struct resolver *r)
{
    pthread_mutex_lock(&r->lock);
    bool settled = is_settled(r);
    pthread_mutex_unlock(&r->lock);
    return settled;
}

/* As many threads as can be of use. One of them, at normal priority, takes over the file that the
 * background thread works on. */
static size_t helpers_wanted(const struct resolver *r)
{
    size_t waiting = 0;
    for (size_t i = 0; i < r->files.count; i++)
        waiting += r->files.items[i]->asked.count || r->files.items[i]->busy;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = processors < 1 ? 1 : processors > HELPERS_MAX ? HELPERS_MAX : (size_t)processors;
    return waiting < most ? waiting : most;
}

/* Reports progress while the helpers work. */
static void report_until_settled(struct resolver *r,
                                 void (*tell)(void *context, size_t found, size_t asked),
                                 void *context)
{
    pthread_mutex_lock(&r->lock);
    while (!is_settled(r)) {
        struct timespec next;
        clock_gettime(CLOCK_REALTIME, &next);
        next.tv_nsec += TELL_NS;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&r->news, &r->lock, &next) != ETIMEDOUT)
            continue;
        size_t found = r->runs.count;
        pthread_mutex_unlock(&r->lock);
        tell(context, found, r->asked.count);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
}

void resolver_wait(struct resolver *r, void (*tell)(void *context, size_t found, size_t asked),
                   void *context)
{
    pthread_t helpers[HELPERS_MAX];
    size_t started = 0;
    if (r->finished)
        return;
    pthread_mutex_lock(&r->lock);
    r->closed = true;
    if (r->background_works)
        setpriority(PRIO_PROCESS, (id_t)r->background_thread, getpriority(PRIO_PROCESS, 0));
    size_t wanted = helpers_wanted(r);
    pthread_cond_broadcast(&r->news);
    pthread_mutex_unlock(&r->lock);
    while (started < wanted && start(&helpers[started], work_to_the_end, r))
        started++;
    if (wanted && !started)
        work_to_the_end(r);
    if (tell && started)
        report_until_settled(r, tell, context);
    for (size_t i = 0; i < started; i++)
        pthread_join(helpers[i], NULL);
    for (size_t i = 0; i < r->files.count; i++)
        close_symbols(r->files.items[i]);
    malloc_trim(0); /* the next step needs as much memory, in other places */
    if (r->has_background)
        /* It has nothing to do; to wait for it at its priority would take long. */
        pthread_detach(r->background);
    r->finished = true;
}

const struct frame *resolver_frames(struct resolver *r, struct code_address at, size_t *count)
{
    uint64_t key = address_key(at.file, at.address);
    uint32_t run = map_get(&r->results, key);
    if (run == MAP_NONE && r->forked) {
        resolve(r, at.file, r->files.items[at.file], at.address);
        run = map_get(&r->results, key);
    }
    if (run == MAP_NONE)
        return NULL;
    uint32_t first = r->runs.items[run];
    *count = (run + 1 < r->runs.count ? r->runs.items[run + 1] : r->frames.count) - first;
    return r->frames.items + first;
}

const char *resolver_string(const struct resolver *r, uint32_t number)
{
    return strpool_get(&r->strings, number);
}

void resolver_hold(struct resolver *r)
{
    pthread_mutex_lock(&r->lock);
}

void resolver_go_on(struct resolver *r)
{
    pthread_mutex_unlock(&r->lock);
}

void resolver_alone(struct resolver *r)
{
    for (size_t i = 0; i < r->files.count; i++) /* a thread may be in the middle of a file */
        r->files.items[i]->symbols = NULL;
    r->forked = true;
}

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    resolver_wait(r, NULL, NULL);
    pthread_mutex_lock(&r->lock);
    while (r->has_background && !r->background_ended)
        pthread_cond_wait(&r->news, &r->lock);
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < r->files.count; i++) {
        struct file *f = r->files.items[i];
        close_symbols(f);
        vec_release(&f->asked);
        free(f->path);
        free(f);
    }
    vec_release(&r->files);
    vec_release(&r->unsent);
    vec_release(&r->frames);
    vec_release(&r->runs);
    map_release(&r->asked);
    map_release(&r->file_index);
    map_release(&r->results);
    strpool_release(&r->strings);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->news);
    free(r);
}
