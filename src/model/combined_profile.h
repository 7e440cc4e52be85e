/*
 * combined_profile: all processes of a recording as one profile (--process all).
 *
 * Stacks, threads, sites, marks and the last looks at live blocks are put side by side; equal
 * stacks of different processes become one where stacks are compared by name, as everywhere else.
 * Time is that of the recording: each process's own, moved to when it started. An interval of a
 * process is one of the whole, in order of their ends, so at any moment every process is as it was
 * at the end of its last interval.
 *
 * Live bytes are sums; a process that has ended counts with what it had when it ended. The peak is
 * the highest sum of processes that were there at the same time, known as well as intervals allow:
 * at the end of an interval, or at the peak of one of them. Stamps, mappings and inherited blocks
 * are of one process, and not in it.
 *
 * Ownership: the recording has it (recording.combined), and recording_free frees it.
 */
#ifndef TIDE_MODEL_COMBINED_PROFILE_H
#define TIDE_MODEL_COMBINED_PROFILE_H

#include "base/err.h"
#include "store/recording.h"

#define COMBINED_PROFILE_WORD "all" /* of --process */

/* Makes it, if it is not there. -E2BIG: there are too many processes; -ENOENT: there is none. */
int combined_profile_make(struct recording *r, struct err *err);

#endif
