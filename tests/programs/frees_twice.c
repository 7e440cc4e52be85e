/* frees_twice SIZE: frees a block of this size twice, as its first block; the allocator says so. */
#include <stdlib.h>

int main(int argc, char **argv)
{
    void *volatile block = malloc(argc > 1 ? strtoul(argv[1], NULL, 10) : 1);

    free(block);
    free(block);
    return 0;
}
