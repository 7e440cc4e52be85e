#include "collect/counting/thread_numbers.h"

#include "collect/proc/proc.h"

/* With more threads, reading them all whenever one begins would take too long. Those that begin
 * then keep the program's numbers. */
#define THREADS_MOST 256

void thread_numbers_begin(struct thread_numbers *n, pid_t pid, uint32_t pid_inside)
{
    n->pid = pid;
    n->pid_inside = pid_inside == (uint32_t)pid ? 0 : pid_inside;
    thread_numbers_update(n);
}

void thread_numbers_release(struct thread_numbers *n)
{
    map_release(&n->outside);
    n->outside = (struct map){0};
}

void thread_numbers_update(struct thread_numbers *n)
{
    if (!n->pid_inside || proc_count_threads(n->pid) > THREADS_MOST)
        return;
    DIR *threads = proc_open_threads(n->pid);
    for (pid_t tid; (tid = proc_next_number(threads));) {
        uint32_t inside = proc_thread_inside(n->pid, tid);
        if (inside)
            *map_at(&n->outside, inside) = (uint32_t)tid;
    }
    if (threads)
        closedir(threads);
}

uint32_t thread_numbers_outside(const struct thread_numbers *n, uint32_t tid)
{
    if (!n->pid_inside)
        return tid;
    if (tid == n->pid_inside)
        return (uint32_t)n->pid;
    uint32_t outside = map_get(&n->outside, tid);
    return outside == MAP_NONE ? tid : outside;
}
