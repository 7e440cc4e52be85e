/* Maps 64 MiB, in the way that the argument says, and marks when it has them. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tidemark.h"

#define SIZE ((size_t)64 << 20)

static void *volatile kept;

/* As an allocator inside a library does. */
__attribute__((noinline)) static void own_arena(void)
{
    char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, SIZE);
    kept = p;
}

/* Address space, of which nothing is resident. */
__attribute__((noinline)) static void reserved(void)
{
    kept = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Resident, but the pages are a file's. */
__attribute__((noinline)) static void of_a_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)SIZE))
        abort();
    char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memset(p, 1, SIZE);
    kept = p;
    unlink(path);
}

/* Resident, and in the heap. */
__attribute__((noinline)) static void of_the_heap(void)
{
    kept = malloc(SIZE);
    memset(kept, 1, SIZE);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "arena") == 0)
        own_arena();
    else if (strcmp(how, "reserved") == 0)
        reserved();
    else if (strcmp(how, "file") == 0)
        of_a_file(argv[2]);
    else
        of_the_heap();
    tide_mark("has");
    return 0;
}
