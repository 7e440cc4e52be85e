/*
 * touches HOW THREADS PAGES [FILE]: makes pages resident in a known way, in each thread. At its
 * end it prints the faults that the kernel counted and the bytes of huge pages that it has, and
 * waits for FILE to appear.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PAGE     4096

static const char *how;
static long pages;

NOINLINE static void touch(char *memory, long count)
{
    for (long i = 0; i < count; i++)
        memory[i * PAGE] = 1; /* line touch */
}

NOINLINE static void touch_again(char *memory, long count)
{
    for (long i = 0; i < count; i++)
        memory[i * PAGE] = 2; /* line again */
}

NOINLINE static void fill(char *memory, long count)
{
    int zero = open("/dev/zero", O_RDONLY);
    if (read(zero, memory, (size_t)count * PAGE) != count * PAGE)
        exit(2);
    close(zero);
}

NOINLINE static char *map(long count, int flags)
{
    char *memory = mmap(NULL, (size_t)count * PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED)
        exit(3);
    return memory;
}

NOINLINE static void in_child(char *memory)
{
    pid_t child = fork();
    if (child == 0) {
        touch_again(memory, pages);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void *work(void *unused)
{
    char *memory = map(pages, strcmp(how, "populate") == 0 ? MAP_POPULATE : 0);
    int advice = strcmp(how, "huge") == 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
    if (strcmp(how, "populate") != 0)
        madvise(memory, (size_t)pages * PAGE, advice);
    if (strcmp(how, "twice") == 0) {
        touch(memory, pages / 2);                    /* line first */
        touch(memory + pages / 2 * PAGE, pages / 2); /* line second */
    } else if (strcmp(how, "read") == 0) {
        fill(memory, pages);
    } else {
        touch(memory, pages);
    }
    if (strcmp(how, "fork") == 0)
        in_child(memory);
    return unused;
}

static long huge_bytes(void)
{
    char line[256];
    long size, all = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "AnonHugePages: %ld", &size) == 1)
            all += size * 1024;
    if (f)
        fclose(f);
    return all;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 1;
    how = argv[1];
    pages = atol(argv[3]);
    int threads = atoi(argv[2]);
    pthread_t all[64];
    for (int i = 1; i < threads; i++)
        pthread_create(&all[i], NULL, work, NULL);
    work(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(all[i], NULL);
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("%ld %ld\n", u.ru_minflt + u.ru_majflt, huge_bytes());
    fflush(stdout);
    while (argc > 4 && access(argv[4], F_OK) != 0)
        usleep(1000);
    return 0;
}
