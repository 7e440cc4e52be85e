/*
 * left_blocks keep N SIZE: allocates N blocks and ends without freeing them.
 * left_blocks hold SIZE: allocates a block and frees it.
 */
#include <string.h>

#include "known.h"

SITE static void keep(size_t size)
{
    known_sink = malloc(size);
}

SITE static void hold(size_t size)
{
    known_sink = malloc(size);
    free(known_sink);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "hold") == 0)
        hold((size_t)atol(argv[2]));
    for (int i = 0; argc == 4 && i < atoi(argv[2]); i++)
        keep((size_t)atol(argv[3]));
    return 0;
}
