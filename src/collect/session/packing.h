/*
 * packing: turns the tables of a process that has ended into the chunks of the file (struct packed
 * of collect/counting/target.h), so that it takes little more memory than it will take there.
 *
 * store/writer.h decides the bytes; saving.c and snapshots.c decide when a file is written.
 *
 * Threads: one. packing_write may use another for the names, which has ended when it returns.
 */
#ifndef TIDE_COLLECT_SESSION_PACKING_H
#define TIDE_COLLECT_SESSION_PACKING_H

#include "collect/counting/target.h"

/* Fills the sums in target.packed, after the process has ended. */
void packing_count(struct target *t);
/* Makes the chunks of the figures of a process that has ended, and frees the tables that they were
 * made from. Strings are added to `strings`, which must be those of the file. */
void packing_figures(struct target *t, struct strpool *strings);
/* Makes the remaining large chunks. Call it after packing_figures, when the names are known. */
void packing_names(struct target *t, struct naming *naming, struct strpool *strings);
/* Appends all chunks of a target to `out`, as those of process `number`; makes those that are not
 * made yet. Afterwards the profile has no figures and no code. */
void packing_write(struct target *t, struct naming *naming, struct strpool *strings,
                   uint32_t number, struct strbuf *out);

#endif
