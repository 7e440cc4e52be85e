/*
 * combined_profile: all processes of a recording as one profile (--process all).
 *
 * It has the stacks, threads, sites, marks and last leak scans of all processes. Equal stacks of
 * different processes become one wherever stacks are compared by name. Time runs from the start of
 * the recording: the times of each process are moved to when it started. The intervals of all
 * processes are sorted by their ends, so at any moment each process is as it was at the end of its
 * last interval.
 *
 * Live bytes are sums; a process that has ended counts with what it had when it ended. The peak is
 * the highest sum over processes that ran at the same time. It is known at the ends of intervals
 * and at the peak of each process. process_ends says from which interval on a process counts only
 * with what it left. Stamps, mappings and inherited blocks belong to one process and
 * are left out.
 *
 * Ownership: the recording has it (recording.combined), and recording_free frees it.
 */
#ifndef TIDE_MODEL_COMBINED_PROFILE_H
#define TIDE_MODEL_COMBINED_PROFILE_H

#include "base/err.h"
#include "store/recording.h"

#define COMBINED_PROFILE_WORD "all" /* the word for --process */

/* Makes the combined profile, unless it exists. -E2BIG: there are too many processes; -ENOENT:
 * there is none. */
int combined_profile_make(struct recording *r, struct err *err);

#endif
