#include "analyse/fragmentation.h"

#define PINNED_SHARE 0.25 /* share of the kept memory that live blocks must keep */
/* Share that the blocks of one function must keep: otherwise nobody in particular does. */
#define PIN_SHARE 0.1

bool is_fragmentation(const struct growth_account *a, double held, double kept)
{
    return a->pins.count && held >= PINNED_SHARE * kept &&
           (double)a->pins.items[0].pinned_bytes >= PIN_SHARE * kept;
}
