/*
 * resolver: addresses in files to functions and lines, found by threads of its own.
 *
 * One thread of low priority resolves addresses while the program runs. A caller that waits for the
 * rest starts as many threads as there are processors. Only one thread at a time works on a file
 * (struct symbolizer is not shared), so more threads help only if there are several files. The
 * results do not depend on which thread finds them, nor on when.
 *
 * Threads: resolver_* are called by one thread. Ownership: resolver_free(NULL) is fine.
 */
#ifndef TIDE_COLLECT_NAMING_RESOLVER_H
#define TIDE_COLLECT_NAMING_RESOLVER_H

#include "base/map.h"
#include "store/recording.h"

struct resolver;

/* One address of one file. */
struct code_address {
    uint32_t file;
    uint64_t address; /* in the ELF file */
};

/* `in_turn`: as other processes; else it does its work when they leave the processor to it. */
struct resolver *resolver_new(bool in_turn);
/* The number of a file, told apart by path and build id. */
uint32_t resolver_file(struct resolver *r, const char *path, const uint8_t *build_id,
                       uint32_t build_id_size);
const char *resolver_path(const struct resolver *r, uint32_t file);
/* Asks for an address, unless it was asked before; work begins with resolver_send. */
void resolver_ask(struct resolver *r, struct code_address at);
void resolver_send(struct resolver *r);
/* Is all that was sent found? */
bool resolver_is_settled(struct resolver *r);
/* Waits until all that was sent is found. Nothing is asked after it. `tell` is called now and then
 * meanwhile, by the caller's thread, with how many of the addresses have been found; NULL is fine.
 */
void resolver_wait(struct resolver *r, void (*tell)(void *context, size_t found, size_t asked),
                   void *context);
/* The frames of an address, innermost first, good until the next call; their strings are
 * resolver_string's. NULL: not found yet. After resolver_wait, or in a forked child. */
const struct frame *resolver_frames(struct resolver *r, struct code_address at, size_t *count);
const char *resolver_string(const struct resolver *r, uint32_t number);

/* Around a fork, in the parent, and resolver_go_on in the child too: results are whole meanwhile.
 */
void resolver_hold(struct resolver *r);
void resolver_go_on(struct resolver *r);
/* In a forked child, between the two: resolver_frames finds what is missing itself. */
void resolver_alone(struct resolver *r);
void resolver_free(struct resolver *r);

#endif
