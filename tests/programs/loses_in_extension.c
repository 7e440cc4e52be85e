/* An extension for ruby_like.c: loses 7 blocks of 30 bytes. */
#include <stdlib.h>

#include "known.h"

SITE static void lose(void)
{
    for (int i = 0; i < 7; i++)
        known_sink = malloc(30);
    known_sink = NULL;
}

void extension(void);
void extension(void)
{
    lose();
}
