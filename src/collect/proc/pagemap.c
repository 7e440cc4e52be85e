#include "collect/proc/pagemap.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "machine/page.h"

#define PAGE          page_bytes()
#define MAPPED_BY_ONE (UINT64_C(1) << 56)

/* From <linux/fs.h> of Linux 6.7 and later. */
struct pm_scan_arg {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)

int pagemap_open(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void add_run(struct page_runs *out, size_t first, struct page_run r)
{
    struct page_run *last = out->items.count > first ? vec_last(&out->items) : NULL;
    if (last && last->end == r.start && last->flags == r.flags)
        last->end = r.end;
    else
        *vec_push(&out->items) = r;
}

static bool ask_runs(int fd, struct pm_scan_arg ask, struct page_runs *out)
{
    struct page_run runs[256];
    size_t first = out->items.count;
    ask.vec = (uintptr_t)runs;
    ask.vec_len = sizeof runs / sizeof *runs;
    while (ask.start < ask.end) {
        long n = ioctl(fd, PAGEMAP_SCAN, &ask);
        if (n < 0 || ask.walk_end <= ask.start)
            return false;
        for (long i = 0; i < n; i++)
            add_run(out, first, runs[i]);
        ask.start = ask.walk_end;
    }
    return true;
}

static uint64_t flags_of(uint64_t entry)
{
    return (entry >> 63 ? PAGE_PRESENT : 0) | (entry >> 62 & 1 ? PAGE_SWAPPED : 0) |
           (entry >> 61 & 1 ? PAGE_OF_FILE : 0);
}

static bool ask_pages(int fd, const struct pm_scan_arg *ask, struct page_runs *out)
{
    uint64_t entries[2048];
    size_t first = out->items.count;
    for (uint64_t page = ask->start / PAGE, end = ask->end / PAGE; page < end;) {
        uint64_t wanted = end - page < 2048 ? end - page : 2048;
        ssize_t n = pread(fd, entries, wanted * 8, (off_t)(page * 8));
        if (n < 8)
            return false;
        for (ssize_t i = 0; i < n / 8; i++, page++) {
            uint64_t flags = flags_of(entries[i]);
            if (flags & ask->category_anyof_mask)
                add_run(
                    out, first,
                    (struct page_run){page * PAGE, (page + 1) * PAGE, flags & ask->return_mask});
        }
    }
    return true;
}

bool pagemap_runs(int fd, uint64_t start, uint64_t end, uint64_t wanted, uint64_t distinguished,
                  struct page_runs *out)
{
    struct pm_scan_arg ask = {.size = sizeof ask,
                              .start = start,
                              .end = end,
                              .category_anyof_mask = wanted,
                              .return_mask = distinguished};
    size_t before = out->items.count;
    if (ask_runs(fd, ask, out))
        return true;
    out->items.count = before;
    return ask_pages(fd, &ask, out);
}

bool pagemap_own(int fd, uint64_t start, uint64_t end, struct page_runs *out)
{
    uint64_t entries[2048];
    size_t first = out->items.count;
    for (uint64_t page = start / PAGE, last = end / PAGE; page < last;) {
        uint64_t wanted = last - page < 2048 ? last - page : 2048;
        ssize_t n = pread(fd, entries, wanted * 8, (off_t)(page * 8));
        if (n < 8)
            return false;
        for (ssize_t i = 0; i < n / 8; i++, page++) {
            bool shared = flags_of(entries[i]) == PAGE_PRESENT && !(entries[i] & MAPPED_BY_ONE);
            if (!shared)
                add_run(out, first, (struct page_run){page * PAGE, (page + 1) * PAGE, 0});
        }
    }
    return true;
}
