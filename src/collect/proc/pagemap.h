/*
 * pagemap: which pages of another process are there, from /proc/PID/pagemap: by PAGEMAP_SCAN (Linux
 * 6.7 and later), else page by page. No privilege is needed for what is asked here.
 */
#ifndef TIDE_COLLECT_PROC_PAGEMAP_H
#define TIDE_COLLECT_PROC_PAGEMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

/* As the kernel numbers them. Only the first three are known where pages are asked one by one. */
enum page_flag {
    PAGE_OF_FILE = 1 << 2, /* or shared memory */
    PAGE_PRESENT = 1 << 3,
    PAGE_SWAPPED = 1 << 4,
    PAGE_ZERO = 1 << 5, /* the one that all share which were only read; no part of RSS */
    PAGE_HUGE = 1 << 6
};

struct page_run {
    uint64_t start, end;
    uint64_t flags; /* of enum page_flag, as far as they were to be told */
};

struct page_runs {
    VEC(struct page_run) items;
};

/* A descriptor, or -1: it may not be looked at, or is gone. */
int pagemap_open(pid_t pid);
/* Appends the pages of [start, end) that have any of the flags `wanted`, in order; runs differ in
 * the flags `told`. false: it could not be found out. */
bool pagemap_runs(int fd, uint64_t start, uint64_t end, uint64_t wanted, uint64_t told,
                  struct page_runs *out);

/* The same for those pages of [start, end) that this process alone has, or that are swapped out or
 * part of a file: all but those that it shares since a fork. */
bool pagemap_own(int fd, uint64_t start, uint64_t end, struct page_runs *out);

#endif
