/*
 * routes: where calls of the most frequently called functions go.
 *
 * Each of these functions of the recorder is one jump through a word of this page, which the
 * program and the collector share. Changing the word changes what a call costs: while the recorder
 * is dormant, the words lead to the next functions, and a call costs one jump more than without us.
 * The collector only copies words within the page; the addresses are the program's. A forked child
 * has its parent's page until it connects: its addresses are the same.
 */
#ifndef TIDE_WIRE_ROUTES_H
#define TIDE_WIRE_ROUTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In this order, whose numbers arch/MACHINE/routes.c knows. */
#define WIRE_ROUTED(R)                                                                             \
    R(malloc)                                                                                      \
    R(calloc)                                                                                      \
    R(realloc)                                                                                     \
    R(free)                                                                                        \
    R(_Znwm)                                                                                       \
    R(_Znam)                                                                                       \
    R(_ZnwmRKSt9nothrow_t)                                                                         \
    R(_ZnamRKSt9nothrow_t)                                                                         \
    R(_ZdlPv)                                                                                      \
    R(_ZdaPv)                                                                                      \
    R(_ZdlPvm)                                                                                     \
    R(_ZdaPvm)

enum wire_route {
#define WIRE_ROUTE(name) WIRE_ROUTE_##name,
    WIRE_ROUTED(WIRE_ROUTE)
#undef WIRE_ROUTE
        WIRE_ROUTES
};

struct wire_routes {
    _Atomic uint64_t now[WIRE_ROUTES];       /* where calls go */
    _Atomic uint64_t recording[WIRE_ROUTES]; /* where they go while it records; 0: not known yet */
    _Atomic uint64_t forward[WIRE_ROUTES];   /* and while it does not */
};

/* Both sides may do this at once: what is copied is read again afterwards. */
static inline void wire_routes_set(struct wire_routes *r, bool recording)
{
    _Atomic uint64_t *from = recording ? r->recording : r->forward;
    for (unsigned i = 0; i < WIRE_ROUTES; i++) {
        uint64_t there;
        do {
            there = atomic_load(&from[i]);
            if (there)
                atomic_store(&r->now[i], there);
        } while (there != atomic_load(&from[i]));
    }
}

#endif
