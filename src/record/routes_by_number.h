/*
 * routes_by_number: the numbers and offsets that the assembly of arch/MACHINE/routes.c contains.
 */
#ifndef TIDE_RECORD_ROUTES_BY_NUMBER_H
#define TIDE_RECORD_ROUTES_BY_NUMBER_H

#include <assert.h>

#include "record/recorder.h"
#include "wire/routes.h"

static_assert(offsetof(struct wire_routes, now) == 0 && WIRE_ROUTES == 12, "below by number");
static_assert(WIRE_ROUTE_free == 3 && WIRE_ROUTE__ZdaPvm == 11, "below by number");
static_assert(offsetof(struct next, malloc) == 8 && offsetof(struct next, calloc) == 16 &&
                  offsetof(struct next, realloc) == 24 && offsetof(struct next, free) == 32,
              "below by number");
static_assert(SAMPLE_FILTER_SIZE == 0x400000 && SAMPLE_FILTER_SHIFT == 10, "below by number");

/* R("name", "number") for each function of wire/routes.h. */
#define ROUTES_BY_NUMBER(R)                                                                        \
    R("malloc", "0");                                                                              \
    R("calloc", "1");                                                                              \
    R("realloc", "2");                                                                             \
    R("free", "3");                                                                                \
    R("_Znwm", "4");                                                                               \
    R("_Znam", "5");                                                                               \
    R("_ZnwmRKSt9nothrow_t", "6");                                                                 \
    R("_ZnamRKSt9nothrow_t", "7");                                                                 \
    R("_ZdlPv", "8");                                                                              \
    R("_ZdaPv", "9");                                                                              \
    R("_ZdlPvm", "10");                                                                            \
    R("_ZdaPvm", "11")

#endif
