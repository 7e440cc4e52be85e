/*
 * not_scanned: why it is not known what pointed to a process's last blocks: the one cause, in
 * words.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_NOT_SCANNED_H
#define TIDE_COLLECT_LEAKSCAN_NOT_SCANNED_H

#include "collect/counting/target.h"

/* After target_end, when it is known how the process ended. Does nothing if it was scanned. */
void not_scanned_explain(struct target *t, bool no_scan);

#endif
