/* A library whose deep_outer calls deep_middle, that deep_inner, which allocates 77 bytes. */
#include "known.h"

void deep_inner(void);
void deep_middle(void);
void deep_outer(void);

SITE void deep_inner(void)
{
    known_sink = malloc(77);
}

SITE void deep_middle(void)
{
    deep_inner();
    known_sink = NULL;
}

SITE void deep_outer(void)
{
    deep_middle();
    known_sink = NULL;
}
