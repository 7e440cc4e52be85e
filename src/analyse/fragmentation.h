/*
 * fragmentation: is memory that the allocator keeps fragmented, or only retained?
 */
#ifndef TIDE_ANALYSE_FRAGMENTATION_H
#define TIDE_ANALYSE_FRAGMENTATION_H

#include <stdbool.h>

#include "analyse/growth_account.h"

/* `held` bytes of what the allocator keeps, of `kept` bytes in all, are on pages with live blocks.
 * It is not fragmentation if most are whole free pages, nor if the blocks of no function keep much
 * of it: then it is retention. Only this function decides that. */
bool is_fragmentation(const struct growth_account *a, double held, double kept);

#endif
