/*
 * Does what it is told on stdin, one line each, and answers with its own count of allocations, frees
 * and bytes. The first answer is "ready".
 */
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST    200000
#define THREADS 8

static void *kept[MOST];
static long count, allocations, frees;
static unsigned long bytes;

__attribute__((noinline)) static void keep(long n, size_t size)
{
    for (long i = 0; i < n && count < MOST; i++) {
        allocations++;
        bytes += size;
        kept[count++] = malloc(size);
    }
}

static void drop(long n)
{
    for (; n > 0 && count; n--, frees++)
        free(kept[--count]);
}

/* Each of the functions once, and freed. */
static void each(long n)
{
    for (long i = 0; i < n; i++) {
        void *p[8] = {
            malloc(10),       calloc(2, 10), realloc(NULL, 30),        aligned_alloc(64, 64),
            memalign(32, 50), valloc(60),    reallocarray(NULL, 7, 10)};
        if (posix_memalign(&p[7], 64, 80))
            abort();
        p[0] = realloc(p[0], 5000);
        for (unsigned k = 0; k < 8; k++)
            free(p[k]);
        allocations += 9;
        frees += 9;
        bytes += 10 + 20 + 30 + 64 + 50 + 60 + 70 + 80 + 5000;
    }
}

__attribute__((noinline)) static void *work(void *n)
{
    void *p[64] = {0};
    for (long i = 0; i < (long)n; i++) {
        free(p[i % 64]);
        p[i % 64] = malloc(64);
    }
    for (unsigned i = 0; i < 64; i++)
        free(p[i]);
    return NULL;
}

/* pthread_create allocates too; that is not counted here. */
static void threads(long n)
{
    pthread_t all[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&all[i], NULL, work, (void *)n);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

static void child(long n)
{
    if (fork() == 0) {
        keep(n, 77);
        drop(n + 5);
        _exit(3);
    }
    wait(NULL);
}

static void *fork_silently(void *unused)
{
    fork();
    for (;;)
        pause(); /* the child too, which never allocates */
    return unused;
}

static void *stand(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* Threads that go on, and do nothing. */
static void stay(long n, void *(*doing)(void *))
{
    for (long i = 0; i < n; i++) {
        pthread_t one;
        pthread_create(&one, NULL, doing, NULL);
    }
}

static void waiting(long n)
{
    stay(n, stand);
}

static void silent(long n)
{
    stay(n, fork_silently);
}

extern char **environ;

/* Another program, and this one again; both stay. */
static void *spawn_both(void *unused)
{
    static char *const others[] = {"sleep", "1000", NULL}, *const own[] = {"again", "stay", NULL};
    pid_t pid;
    if (posix_spawnp(&pid, others[0], NULL, NULL, others, environ) ||
        posix_spawn(&pid, "/proc/self/exe", NULL, NULL, own, environ))
        abort();
    return unused;
}

/* By threads that stay: the kernel gives the children of one that ends to another. */
static void *spawn_and_stay(void *done)
{
    spawn_both(NULL);
    pthread_barrier_wait(done);
    return stand(NULL);
}

static void spawn(long n)
{
    static pthread_barrier_t done;
    pthread_barrier_init(&done, NULL, (unsigned)n + 1);
    for (long i = 0; i < n; i++) {
        pthread_t one;
        pthread_create(&one, NULL, spawn_and_stay, &done);
    }
    pthread_barrier_wait(&done);
}

/* Becomes this program, from the beginning: the answer is "ready". */
static void become(long n)
{
    (void)n;
    execl("/proc/self/exe", "became", (char *)NULL);
}

static void info(long n)
{
    struct mallinfo2 m = mallinfo2();
    (void)n;
    printf("%zu %zu\n", m.uordblks + m.hblkhd, m.hblks);
}

static void small(long n)
{
    keep(n, 100);
}

/* Blocks that nothing points to, each with one that only it points to. */
__attribute__((noinline)) static void lose(long n)
{
    for (long i = 0; i < n; i++) {
        void **block = malloc(500);
        memset(block, 0, 500);
        *block = memset(malloc(700), 0, 700);
    }
}

/* Blocks that are kept until `hang` makes them point to new ones, and forgets them. */
static void **prepared[100];

static void prepare(long n)
{
    for (long i = 0; i < n; i++)
        prepared[i] = malloc(900);
}

__attribute__((noinline)) static void hang(long n)
{
    for (long i = 0; i < n; i++) {
        allocations++;
        bytes += 333;
        *prepared[i] = malloc(333);
        prepared[i] = NULL;
    }
}

static void large(long n)
{
    keep(n, 300000);
}

static void map(long n)
{
    for (long i = 0; i < n; i++)
        mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* As a server does that was started by root: the kernel no longer lets it open its /proc files. */
static void nobody(long id)
{
    if (setgid((gid_t)id) != 0 || setuid((uid_t)id) != 0)
        abort();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*does)(long);
    } actions[] = {
        {"small", small},     {"large", large},   {"drop", drop},       {"each", each},
        {"fork", child},      {"map", map},       {"threads", threads}, {"info", info},
        {"waiting", waiting}, {"silent", silent}, {"lose", lose},       {"prepare", prepare},
        {"hang", hang},       {"spawn", spawn},   {"become", become},   {"nobody", nobody}};
    static char in[4096];
    char line[100], name[20];
    if (argc > 1)
        stand(argv);
    setvbuf(stdin, in, _IOFBF, sizeof in);
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("ready");
    while (fgets(line, sizeof line, stdin)) {
        long n = 0;
        if (sscanf(line, "%19s %ld", name, &n) < 1 || strcmp(name, "end") == 0)
            break;
        for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
            if (strcmp(actions[i].name, name) == 0)
                actions[i].does(n);
        if (strcmp(name, "info") != 0)
            printf("%ld %ld %lu\n", allocations, frees, bytes);
    }
    return 5;
}
