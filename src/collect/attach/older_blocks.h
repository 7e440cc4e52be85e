/*
 * older_blocks: where the blocks are that a program had before the attach and still has, so that the
 * leak scan can tell which of them something points to.
 *
 * They are the chunks in use of glibc's heaps (heap_before.h), without those that a thread has freed
 * and keeps for itself (tcache). glibc says nowhere where a thread's tcache is. It is found as a word
 * of thread-local storage, at the same distance from the thread pointer in all threads, that holds
 * the address of a block of its size or 0, and from which lists of blocks of the right sizes and
 * lengths lead to their ends. If there is no such word, or the heap is not as expected, nothing is
 * known. Checked: glibc 2.36; before 2.30 and from 2.42 on the tcache has another form.
 *
 * All threads must stand still. Nothing is written.
 */
#ifndef TIDE_COLLECT_ATTACH_OLDER_BLOCKS_H
#define TIDE_COLLECT_ATTACH_OLDER_BLOCKS_H

#include "collect/leakscan/scan.h"

struct remote_modules;

/* All blocks in use, in order of address, those that are recorded too; false: they are not known.
 * Caller releases. */
bool older_blocks_find(struct remote_modules *m, const struct stopped_threads *threads,
                       struct older_blocks *out);

#endif
