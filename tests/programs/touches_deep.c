/*
 * touches_deep PAGES FIRST SECOND: touches so many fresh pages from a shallow stack; when the file
 * FIRST is there, from a deep one; when SECOND is there, from that once more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PAGE     4096
#define DEPTH    40

static volatile char sink;

NOINLINE static void touch(char *memory, long count)
{
    for (long i = 0; i < count; i++)
        memory[i * PAGE] = 1;
}

NOINLINE static void shallow(char *memory, long count)
{
    touch(memory, count);
    sink++; /* no tail call */
}

NOINLINE static void deep(int depth, char *memory, long count)
{
    volatile char room[64];
    room[0] = 1;
    if (depth > 1)
        deep(depth - 1, memory, count);
    else
        touch(memory, count);
    sink += room[0];
}

static char *fresh(long count)
{
    size_t size = (size_t)count * PAGE;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(2);
    madvise(memory, size, MADV_NOHUGEPAGE);
    return memory;
}

static void wait_for(const char *path)
{
    puts(path);
    fflush(stdout);
    while (access(path, F_OK) != 0)
        usleep(1000);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    long pages = atol(argv[1]);
    shallow(fresh(pages), pages);
    wait_for(argv[2]);
    deep(DEPTH, fresh(pages), pages);
    wait_for(argv[3]);
    deep(DEPTH, fresh(pages), pages);
    return 0;
}
