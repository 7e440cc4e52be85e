/*
 * older_blocks: finds the blocks that a program allocated before the attach and has not freed, so
 * that the leak scan can classify them.
 *
 * They are the chunks in use of glibc's heaps (heap_before.h), without those that a thread has
 * freed and keeps for itself (tcache). glibc does not publish where a thread's tcache is. A word of
 * thread-local storage points to it, at the same distance from the thread pointer in all threads.
 * That word holds 0 or the address of a block of the right size, which begins lists of blocks of
 * the right sizes and lengths. If there is no such word, or the heap is not as expected, the blocks
 * are not known. This was checked with glibc 2.36; before 2.30 and from 2.42 on the tcache has
 * another form.
 *
 * All threads must be stopped. Nothing is written.
 */
#ifndef TIDE_COLLECT_ATTACH_OLDER_BLOCKS_H
#define TIDE_COLLECT_ATTACH_OLDER_BLOCKS_H

#include "collect/leakscan/scan.h"

struct remote_modules;

/* Fills `out` with all blocks in use, in order of address, including recorded ones; false: they are
 * not known. The caller releases them. */
bool older_blocks_find(struct remote_modules *m, const struct stopped_threads *threads,
                       struct older_blocks *out);

#endif
