#include "collect/counting/threads.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"

#define PART          16                   /* bytes of a name in one record */
#define THREADS_APART 4096                 /* further threads are counted together */
#define NAMES_MOST    16                   /* names of one thread; then the last one is replaced */
#define RENAMED_MOST  2048                 /* threads and names; the rest is kept for new threads */
#define LINGERS_NS    UINT64_C(1000000000) /* a thread may run so long after it reported its end */

static uint32_t thread_new(struct target *t, uint32_t tid, uint64_t now_ns)
{
    struct thread *thread = vec_push(&t->profile.threads);
    *thread = (struct thread){.tid = tid,
                              .name = xstrdup(tid == (uint32_t)t->pid ? "main" : "thread"),
                              .start_ns = tid == (uint32_t)t->pid ? 0 : now_ns};
    return (uint32_t)(t->profile.threads.count - 1);
}

/* A thread of its own, or the one that stands for all others. */
static uint32_t thread_add(struct target *t, uint32_t tid, uint64_t now_ns)
{
    if (t->profile.threads.count < THREADS_APART)
        return thread_new(t, tid, now_ns);
    if (t->profile.threads.count == THREADS_APART) {
        uint32_t number = thread_new(t, 0, now_ns);
        struct thread *others = &t->profile.threads.items[number];
        free(others->name);
        others->name = xstrdup("(other threads)");
    }
    return THREADS_APART;
}

uint32_t thread_begin(struct target *t, uint32_t tid, bool again, uint64_t now_ns)
{
    for (size_t i = again ? t->profile.threads.count : 0; i-- > 0;)
        if (t->profile.threads.items[i].tid == tid)
            return (uint32_t)i;
    for (size_t i = 0; i < t->sampled.threads.count; i++) {
        uint32_t number = t->sampled.threads.items[i];
        const struct thread *thread = &t->profile.threads.items[number];
        if (thread->tid != tid || thread->end_ns)
            continue;
        t->sampled.threads.items[i] = *vec_last(&t->sampled.threads);
        t->sampled.threads.count--;
        return number;
    }
    return thread_add(t, tid, now_ns);
}

uint32_t thread_sampled(struct target *t, uint32_t tid, uint64_t now_ns)
{
    for (size_t i = t->profile.threads.count; i-- > 0;) {
        const struct thread *known = &t->profile.threads.items[i];
        if (known->tid == tid && (!known->end_ns || now_ns < known->end_ns + LINGERS_NS))
            return (uint32_t)i;
    }
    uint32_t number = thread_add(t, tid, now_ns);
    if (number < THREADS_APART)
        *vec_push(&t->sampled.threads) = number;
    return number;
}

static void append(char **name, const char *more)
{
    char *joined = xasprintf("%s%s", *name, more);
    free(*name);
    *name = joined;
}

void thread_rename(struct target *t, uint32_t number, uint32_t tid, unsigned part, const char *name)
{
    struct thread *thread = &t->profile.threads.items[number];
    if (thread->tid != tid || !*name)
        return;
    if (part) {
        if (strlen(thread->name) == part * PART)
            append(&thread->name, name);
        return;
    }
    /* The first thread has the program's name unless it took another. */
    const struct profile *p = &t->profile;
    if (tid == (uint32_t)t->pid &&
        ((p->executable && strncmp(name, path_base(p->executable), 15) == 0) ||
         (p->command.count && strncmp(name, path_base(p->command.items[0]), 15) == 0)))
        return;
    if (strcmp(thread->name, name) == 0)
        return;
    free(thread->name);
    thread->name = xstrdup(name);
}

uint32_t thread_renames(struct target *t, uint32_t number, uint32_t first, uint32_t tid,
                        const char *name, uint64_t now_ns)
{
    struct thread *thread = &t->profile.threads.items[number];
    size_t names = 0;
    if (thread->tid != tid || !*name || strcmp(thread->name, name) == 0 || number >= THREADS_APART)
        return number;
    for (size_t i = t->profile.threads.count; i-- > first;) {
        struct thread *other = &t->profile.threads.items[i];
        if (other->tid != tid || (uint32_t)i == number)
            continue;
        names++;
        if (strncmp(other->name, name, PART) == 0) { /* it had this name before */
            thread->end_ns = now_ns;
            other->end_ns = 0;
            return (uint32_t)i;
        }
    }
    if (names >= NAMES_MOST || t->profile.threads.count >= RENAMED_MOST) {
        thread_rename(t, number, tid, 0, name);
        return number;
    }
    uint32_t renamed = thread_new(t, tid, now_ns);
    t->profile.threads.items[number].end_ns = now_ns;
    thread_rename(t, renamed, tid, 0, name);
    return renamed;
}

void thread_rename_sampled(struct target *t, uint32_t number, uint32_t tid, const char *name)
{
    for (size_t i = 0; i < t->sampled.threads.count; i++)
        if (t->sampled.threads.items[i] == number)
            thread_rename(t, number, tid, 0, name);
}
