/*
 * not_scanned: explains in one sentence why the last blocks of a process were not scanned. Whether
 * a scan takes place is decided in session/requests.c and scan.c.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_NOT_SCANNED_H
#define TIDE_COLLECT_LEAKSCAN_NOT_SCANNED_H

#include "collect/counting/target.h"

/* Call it after target_end, when it is known how the process ended. Does nothing if the process was
 * scanned. */
void not_scanned_explain(struct target *t, bool no_scan);

#endif
