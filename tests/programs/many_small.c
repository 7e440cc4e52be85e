/* many_small COUNT: so many blocks of 24 bytes, of which the last four are lost. */
#include <stdlib.h>

static void *volatile *blocks;

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    blocks = calloc(count + 1, sizeof *blocks);
    for (size_t i = 0; i < count; i++)
        blocks[i] = calloc(1, 24);
    for (size_t i = count - 4; i < count; i++)
        blocks[i] = NULL;
    return 0;
}
