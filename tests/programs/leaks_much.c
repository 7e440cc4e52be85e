/* leaks_much: 50 blocks of 100,000 bytes, which it keeps; says "done" and ends. */
#include <stdio.h>
#include <string.h>

#include "known.h"

SITE static void much(void)
{
    for (int i = 0; i < 50; i++)
        known_sink = memset(malloc(100000), 1, 100000);
}

int main(void)
{
    much();
    puts("done");
    return 0;
}
