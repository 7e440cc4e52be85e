/*
 * killed LOG THREADS: threads that allocate, hand over and free until somebody kills the process.
 *
 * Each event is counted in LOG, a mapped file, once before the call and once after it, so that
 * what a profile may say is known to within the one event that each thread was at. Counts are by
 * the thread that allocated the block ("worker-N"), as in the profile. tests/soak/kills.py reads
 * them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "known.h"

struct tally {
    _Atomic uint64_t begun, done, bytes_begun, bytes_done;
};

struct worker_log {
    struct tally allocated, freed;
};

struct log {
    _Atomic uint32_t pid;
    uint32_t threads;
    uint64_t padding[7];
    struct worker_log workers[KNOWN_MAX_THREADS];
};

/* At the start of every block: whose it is. */
struct tag {
    uint32_t owner, size;
};

enum { BLOCKS = 64, SLOTS = 32, LARGEST = 6000 };

static struct log *logged;
static _Atomic(struct tag *) handed_over[SLOTS];

static void begin(struct tally *tally, uint64_t bytes)
{
    atomic_fetch_add(&tally->bytes_begun, bytes);
    atomic_fetch_add(&tally->begun, 1);
}

static void end(struct tally *tally, uint64_t bytes)
{
    atomic_fetch_add(&tally->bytes_done, bytes);
    atomic_fetch_add(&tally->done, 1);
}

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % limit);
}

static struct tag *allocate(uint32_t self, uint64_t *state)
{
    struct tally *tally = &logged->workers[self].allocated;
    uint32_t size = 16 + random_below(state, LARGEST);
    void *p = NULL;

    begin(tally, size);
    switch (random_below(state, 4)) {
    case 0:
        p = calloc(1, size);
        break;
    case 1:
        p = memalign(64, size);
        break;
    default:
        p = malloc(size);
        break;
    }
    end(tally, size);
    if (!p)
        abort();
    *(struct tag *)p = (struct tag){self, size};
    return p;
}

static void release(struct tag *block)
{
    struct tally *tally;
    uint32_t size;

    if (!block)
        return;
    tally = &logged->workers[block->owner].freed;
    size = block->size;
    begin(tally, size);
    free(block);
    end(tally, size);
}

static struct tag *resize(struct tag *block, uint32_t self, uint64_t *state)
{
    struct tally *allocated = &logged->workers[self].allocated;
    struct tally *freed = &logged->workers[block->owner].freed;
    uint32_t old_size = block->size, size = 16 + random_below(state, LARGEST);

    begin(freed, old_size);
    begin(allocated, size);
    block = realloc(block, size);
    end(allocated, size);
    end(freed, old_size);
    if (!block)
        abort();
    *block = (struct tag){self, size};
    return block;
}

static void *work(void *argument)
{
    uint32_t self = (uint32_t)(uintptr_t)argument;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) * (self + 1) ^ (uint64_t)getpid();
    struct tag *blocks[BLOCKS] = {NULL};
    char name[] = "worker-0";

    name[7] = (char)('0' + self);
    pthread_setname_np(pthread_self(), name);
    for (;;) {
        struct tag **block = &blocks[random_below(&state, BLOCKS)];

        switch (random_below(&state, 4)) {
        case 0:
            release(atomic_exchange(&handed_over[random_below(&state, SLOTS)], *block));
            *block = NULL;
            break;
        case 1:
            if (*block) {
                *block = resize(*block, self, &state);
                break;
            }
            /* fall through */
        default:
            release(*block);
            *block = allocate(self, &state);
            break;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int file = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int threads = known_argument(argc, argv, 2, 4);
    pthread_t ids[KNOWN_MAX_THREADS];

    if (file < 0 || ftruncate(file, sizeof(*logged)) || threads > 9)
        return 2;
    /* By system call: the log is not among the program's mappings. */
    logged = (struct log *)syscall(SYS_mmap, 0, sizeof(*logged), PROT_READ | PROT_WRITE, MAP_SHARED,
                                   file, 0);
    close(file);
    logged->threads = (uint32_t)threads;
    atomic_store(&logged->pid, (uint32_t)getpid());
    for (intptr_t i = 0; i < threads; i++) {
        if (pthread_create(&ids[i], NULL, work, (void *)i))
            return 3;
    }
    pthread_join(ids[0], NULL);
    return 0;
}
