/* For programs of two processes: a parent that keeps 10 blocks of 100 bytes, and a child that keeps
 * 7 of 1,000. */
#ifndef PARENT_CHILD_H
#define PARENT_CHILD_H

#include "known.h"

SITE static void in_parent(void)
{
    for (int i = 0; i < 10; i++)
        known_sink = malloc(100);
}

SITE static void in_child(void)
{
    for (int i = 0; i < 7; i++)
        known_sink = malloc(1000);
}

#endif
