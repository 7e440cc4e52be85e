/*
 * comparable_name: the name of a function in the form in which two recordings are compared.
 *
 * It leaves out: the clones that optimisers make ("f [clone .constprop.0]", "f.isra.0"), ABI tags
 * ("f[abi:cxx11]"), and, if asked for, the numbers that compilers give to functions without a name
 * ("{lambda(int)#2}", "$_0", "{closure#1}"). These numbers change when another such function is
 * added before.
 */
#ifndef TIDE_MODEL_COMPARABLE_NAME_H
#define TIDE_MODEL_COMPARABLE_NAME_H

#include <stdbool.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "store/recording.h"

/* Appends the name without clones, ABI tags and, if asked for, numbers. */
void comparable_name(struct strbuf *out, const char *name, bool without_numbers);

/*
 * Translates names of one recording so that they match those of another.
 *
 * The numbers of functions without a name stay if both recordings have the same ones. If the
 * recordings have different ones, their numbers cannot be matched, and all of them become one name.
 * A place without a symbol ("libx.so+0x12") is the same place only in an identical library;
 * otherwise all such places of the library become one.
 *
 * Ownership: borrows the recordings; comparable_names_release frees the rest. A {0} may be
 * released.
 */
struct comparable_names {
    const struct profile *own;
    const struct recording *other;
    /* Name without numbers -> sum over the names with numbers, in both recordings. */
    struct map numbered[2];
};

void comparable_names_init(struct comparable_names *o, const struct recording *own,
                           const struct profile *profile, const struct recording *other);
void comparable_names_name(const struct comparable_names *o, struct strbuf *out, const char *name);
void comparable_names_release(struct comparable_names *o);

#endif
