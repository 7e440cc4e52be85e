/*
 * call_sites: remembers which calls end at the addresses that a walk has met.
 *
 * To leave code without unwind information, a walk asks for many words of the stack whether a call
 * ends there (frame_pointer_is_plausible). The answer takes a search for the file, its segments and
 * its code. For an address in a loaded file it stays the same until a file is unloaded, so it is
 * kept here. The answer for any other address is never kept: code may be loaded or generated there.
 *
 * What is kept is enough to answer without a look at the code, because libc may have unloaded a
 * file of its own, and the recorder learns of it only later (record/modules.c).
 *
 * A table belongs to one walk (walk.h), and is emptied when the walk forgets its stack. Not
 * thread-safe. [malloc-free]; memory comes from the caller, zeroed.
 */
#ifndef TIDE_UNWIND_CALL_SITES_H
#define TIDE_UNWIND_CALL_SITES_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "machine/code.h"

/* Which kind of call ends at a return address, seen from the code of `callee`. */
enum step_call {
    CALL_NONE, /* no call: this is not a return address */
    CALL_ANY,  /* a call through a pointer, or of a function that does not contain `callee` */
    /* A call by name of a function that may contain `callee` and keeps a frame pointer. */
    CALL_FRAMED,
    CALL_BARE /* a call by name of a function that may contain `callee` and keeps none */
};

/* The end of a call, or another address in a loaded file. */
struct call_site {
    uint64_t address; /* 0: this place of the table is empty */
    int32_t distance; /* of a call by name: from the address to the function's first instruction */
    /* Seen from the function that is called: CALL_FRAMED or CALL_BARE for a call by name. */
    enum step_call kind;
};
static_assert(sizeof(struct call_site) == 16, "four are in a cache line");

#define CALL_SITES 1024 /* in the table of one walk */

/* Which call ends here, seen from the code of `callee`? */
static inline enum step_call call_site_seen_from(const struct call_site *site, uint64_t callee)
{
    uint64_t target = site->address + (uint64_t)(int64_t)site->distance;
    return site->kind > CALL_ANY && callee - target >= ARCH_FUNCTION_LARGEST ? CALL_ANY
                                                                             : site->kind;
}

/* Can a call by name that ends here be of a function that contains `callee`? Most words of a stack
 * are too far away. */
static inline bool call_reaches(uint64_t address, uint64_t callee)
{
    const uint64_t reach = ARCH_CALL_REACH + ARCH_FUNCTION_LARGEST + ARCH_CALL_LONGEST;
    return address - (callee - reach) <= 2 * reach;
}

/* The only place of a table where this address can be. */
static inline struct call_site *call_site_place(struct call_site sites[CALL_SITES],
                                                uint64_t address)
{
    return &sites[address * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}
static_assert(CALL_SITES == 1 << (64 - 54), "call_site_place takes that many bits of the hash");

#endif
