/* Allocates so many bytes, touches and keeps them. */
#include <stdlib.h>
#include <string.h>

static void *volatile kept;

__attribute__((noinline)) static void hold(size_t size)
{
    kept = malloc(size);
    memset(kept, 1, size);
}

int main(int argc, char **argv)
{
    hold(argc > 1 ? strtoul(argv[1], NULL, 10) : 1);
    return 0;
}
