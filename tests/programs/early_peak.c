/* Most bytes at the beginning: one block of 1,000,000, freed; then 9 of 100 that stay. */
#include <stdlib.h>

#include "known.h"

SITE static void early(void)
{
    known_sink = malloc(1000000);
    free(known_sink);
}

SITE static void late(void)
{
    known_sink = malloc(100);
}

int main(void)
{
    early();
    for (int i = 0; i < 9; i++)
        late();
    return 0;
}
