/*
 * resolver: finds functions and lines for addresses in files, with threads of its own.
 *
 * One thread of low priority resolves addresses while the program runs. A caller that waits for the
 * rest starts as many threads as there are processors. Only one thread at a time works on a file
 * (struct symbolizer is not shared), so more threads help only if there are several files. The
 * results do not depend on which thread finds them, nor on when.
 *
 * Threads: one thread calls resolver_*. Ownership: resolver_free accepts NULL.
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

/* `in_turn`: work at normal priority; otherwise only when other processes leave the processor
 * idle. */
struct resolver *resolver_new(bool in_turn);
/* The number of a file. Files are identified by path and build id. */
uint32_t resolver_file(struct resolver *r, const char *path, const uint8_t *build_id,
                       uint32_t build_id_size);
const char *resolver_path(const struct resolver *r, uint32_t file);
/* Asks for an address, unless it was asked for before; the work begins with resolver_send. */
void resolver_ask(struct resolver *r, struct code_address at);
void resolver_send(struct resolver *r);
/* Has everything been found that was sent? */
bool resolver_is_settled(struct resolver *r);
/* Waits until everything that was sent is found. Nothing may be asked afterwards. Meanwhile the
 * caller's thread calls `tell` now and then with the number of addresses found so far; `tell` may
 * be NULL. */
void resolver_wait(struct resolver *r, void (*tell)(void *context, size_t found, size_t asked),
                   void *context);
/* The frames of an address, innermost first, valid until the next call; resolver_string returns
 * their strings. NULL: not found yet. Call it after resolver_wait, or in a forked child. */
const struct frame *resolver_frames(struct resolver *r, struct code_address at, size_t *count);
const char *resolver_string(const struct resolver *r, uint32_t number);

/* Keeps the results consistent around a fork. Call it in the parent before the fork, and
 * resolver_go_on after it in both processes. */
void resolver_hold(struct resolver *r);
void resolver_go_on(struct resolver *r);
/* Makes resolver_frames look up missing addresses itself. Call it in a forked child, between
 * resolver_hold and resolver_go_on. */
void resolver_alone(struct resolver *r);
void resolver_free(struct resolver *r);

#endif
