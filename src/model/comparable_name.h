/*
 * comparable_name: the name of a function as it is compared between two recordings.
 *
 * Left out: the clones that optimisers make ("f [clone .constprop.0]", "f.isra.0"), ABI tags
 * ("f[abi:cxx11]"), and, where asked for, the numbers that compilers give to what has no name
 * ("{lambda(int)#2}", "$_0", "{closure#1}"), which change when another one is written before it.
 */
#ifndef TIDE_MODEL_COMPARABLE_NAME_H
#define TIDE_MODEL_COMPARABLE_NAME_H

#include <stdbool.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "store/recording.h"

/* Appends the name without those parts. */
void comparable_name(struct strbuf *out, const char *name, bool without_numbers);

/*
 * Names of one recording as their counterparts in another would be found.
 *
 * Numbers of what has no name stay where both recordings number the same ones; if one of them has
 * more or others, it cannot be known which is which, and all of them are one. A place without a
 * symbol ("libx.so+0x12") is the same if its library is, to the bit; else all such places of the
 * library are one.
 *
 * Ownership: borrows the recordings; comparable_names_release frees the rest. {0} is fine to
 * release.
 */
struct comparable_names {
    const struct profile *own;
    const struct recording *other;
    struct map
        numbered[2]; /* name without numbers -> sum over the names with them, own and other */
};

void comparable_names_init(struct comparable_names *o, const struct recording *own,
                           const struct profile *profile, const struct recording *other);
void comparable_names_name(const struct comparable_names *o, struct strbuf *out, const char *name);
void comparable_names_release(struct comparable_names *o);

#endif
