/*
 * pagemap: which pages of another process are present, from /proc/PID/pagemap: by PAGEMAP_SCAN
 * (Linux 6.7 and later), otherwise page by page. None of this needs privileges.
 */
#ifndef TIDE_COLLECT_PROC_PAGEMAP_H
#define TIDE_COLLECT_PROC_PAGEMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

/* The kernel's numbers. Without PAGEMAP_SCAN only the first three are known. */
enum page_flag {
    PAGE_OF_FILE = 1 << 2, /* a page of a file, or of shared memory */
    PAGE_PRESENT = 1 << 3,
    PAGE_SWAPPED = 1 << 4,
    /* The shared page of zeros, for pages that were only read; not part of RSS. */
    PAGE_ZERO = 1 << 5,
    PAGE_HUGE = 1 << 6
};

struct page_run {
    uint64_t start, end;
    uint64_t flags; /* the flags of enum page_flag that were in `distinguished` */
};

struct page_runs {
    VEC(struct page_run) items;
};

/* Opens /proc/PID/pagemap. Returns a descriptor, or -1: the process may not be read, or has
 * ended. */
int pagemap_open(pid_t pid);
/* Appends the pages of [start, end) that have any of the flags `wanted`, in order. Pages that
 * differ in the flags `distinguished` are in different runs. false: this could not be found out. */
bool pagemap_runs(int fd, uint64_t start, uint64_t end, uint64_t wanted, uint64_t distinguished,
                  struct page_runs *out);

/* Appends the pages of [start, end) that only this process has, that are swapped out, or that are
 * part of a file: all pages except those that it shares since a fork. */
bool pagemap_own(int fd, uint64_t start, uint64_t end, struct page_runs *out);

#endif
