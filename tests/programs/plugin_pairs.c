/* A library that frees what others allocated, and allocates what others free. */
#include <stdlib.h>

void pair_take(void *block);
void *pair_give(void);

void pair_take(void *block)
{
    free(block);
}

void *pair_give(void)
{
    return malloc(200);
}
