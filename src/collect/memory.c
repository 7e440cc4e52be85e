#include "collect/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/strbuf.h"

#define PAGE   UINT64_C(4096)
#define PIECES 512 /* in one call */

/* --- what is mapped --------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static enum region_kind kind_of(const char *name, bool shared)
{
    const char *slash = strrchr(name, '/');
    if (begins_with(name, "/memfd:tidemark ") || (slash && begins_with(slash, "/libtidemark.so")))
        return REGION_OURS;
    if (*name == '/' || shared)
        return REGION_FILE;
    return begins_with(name, "[heap]")    ? REGION_HEAP
           : begins_with(name, "[stack]") ? REGION_STACK
                                          : REGION_ANONYMOUS;
}

static bool parse_region(const char *line, struct region *m)
{
    char *at;
    *m = (struct region){.start = strtoull(line, &at, 16)};
    if (*at++ != '-')
        return false;
    m->end = strtoull(at, &at, 16);
    if (m->end <= m->start || strlen(at) < 6)
        return false;
    m->readable = at[1] == 'r';
    m->writable = at[2] == 'w';
    bool shared = at[4] == 's';
    m->offset = strtoull(at + 5, &at, 16);
    for (int field = 0; field < 2; field++) { /* device and inode */
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    at += strspn(at, " ");
    const char *slash = strrchr(at, '/');
    m->kind = kind_of(at, shared);
    m->is_libc = slash && (begins_with(slash, "/libc.so") || begins_with(slash, "/libc-"));
    return true;
}

int memory_map(struct memory *m, pid_t pid)
{
    char path[64], part[16384];
    struct strbuf text = {0};
    m->pid = pid;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC), code = fd < 0 ? -errno : 0;
    for (ssize_t n; fd >= 0 && (n = read(fd, part, sizeof part)) != 0;) {
        code = n < 0 ? -errno : 0;
        if (n < 0)
            break;
        strbuf_add(&text, part, (size_t)n);
    }
    if (fd >= 0)
        close(fd);
    m->regions.count = 0;
    for (char *line = text.data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        struct region each;
        *end = '\0';
        if (parse_region(line, &each))
            *vec_push(&m->regions) = each;
    }
    strbuf_release(&text);
    return code ? code : m->regions.count ? 0 : -ESRCH;
}

const struct region *memory_at(const struct memory *m, uint64_t address)
{
    size_t low = 0, high = m->regions.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->regions.items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct region *found = &m->regions.items[low];
    return low < m->regions.count && found->start <= address ? found : NULL;
}

/* --- which pages are there -------------------------------------------------------------------- */

/* <linux/fs.h> of Linux 6.7 and later. */
struct page_region {
    uint64_t start, end, categories;
};
struct pm_scan_arg {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN    _IOWR('f', 16, struct pm_scan_arg)
#define PAGE_IS_PRESENT (1 << 3)
#define PAGE_IS_SWAPPED (1 << 4)

static bool ask_ranges(int fd, const struct region *m, struct extents *out)
{
    struct page_region regions[256];
    struct pm_scan_arg ask = {.size = sizeof ask,
                              .start = m->start,
                              .end = m->end,
                              .vec = (uintptr_t)regions,
                              .vec_len = sizeof regions / sizeof *regions,
                              .category_anyof_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
                              .return_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED};
    while (ask.start < m->end) {
        long n = ioctl(fd, PAGEMAP_SCAN, &ask);
        if (n < 0)
            return false;
        for (long i = 0; i < n; i++)
            extents_add(out, regions[i].start, regions[i].end);
        if (ask.walk_end <= ask.start)
            return false;
        ask.start = ask.walk_end;
    }
    return true;
}

static bool ask_pages(int fd, const struct region *m, struct extents *out)
{
    uint64_t entries[2048];
    for (uint64_t page = m->start / PAGE, end = m->end / PAGE; page < end;) {
        uint64_t wanted = end - page < 2048 ? end - page : 2048;
        ssize_t n = pread(fd, entries, wanted * 8, (off_t)(page * 8));
        if (n < 8)
            return false;
        for (ssize_t i = 0; i < n / 8; i++, page++)
            if (entries[i] >> 62) /* present, or swapped out */
                extents_add(out, page * PAGE, (page + 1) * PAGE);
        extents_settle(out);
    }
    return true;
}

void memory_find_resident(struct memory *m)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", m->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    m->residency = fd >= 0;
    m->resident.items.count = 0;
    for (size_t i = 0; i < m->regions.count; i++) {
        const struct region *each = &m->regions.items[i];
        if (!each->writable || each->kind == REGION_OURS)
            continue;
        m->residency = m->residency &&
                       (ask_ranges(fd, each, &m->resident) || ask_pages(fd, each, &m->resident));
        if (!m->residency)
            extents_add(&m->resident, each->start, each->end);
    }
    if (fd >= 0)
        close(fd);
    extents_settle(&m->resident);
}

/* --- what is in them -------------------------------------------------------------------------- */

/* Pieces of there and here, of the same sizes. What cannot be read is zero. */
static void read_pieces(pid_t pid, struct iovec *there, struct iovec *here, size_t count)
{
    while (count) {
        ssize_t n = process_vm_readv(pid, here, count, there, count, 0);
        size_t done = n > 0 ? (size_t)n : 0;
        while (count && done >= there->iov_len) {
            done -= there->iov_len;
            there++, here++, count--;
        }
        if (!count)
            return;
        /* Beyond this page, which cannot be. */
        size_t skip = done + PAGE - ((uintptr_t)there->iov_base + done) % PAGE;
        skip = skip < there->iov_len ? skip : there->iov_len;
        memset((char *)here->iov_base + done, 0, skip - done);
        there->iov_base = (char *)there->iov_base + skip;
        here->iov_base = (char *)here->iov_base + skip;
        there->iov_len -= skip;
        here->iov_len -= skip;
    }
}

void memory_read(void *memory, const struct extent *spans, size_t count, char *out)
{
    const struct memory *m = memory;
    struct iovec there[PIECES], here[PIECES];
    size_t pieces = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = spans[i].start, end = spans[i].end;
        const struct extent *last =
            at < m->resident.items.count ? &m->resident.items.items[at] : NULL;
        if (!last || start < last->start || start >= last->end)
            at = extents_find(&m->resident, start);
        for (size_t k = at; start < end; k++) {
            struct extent in = k < m->resident.items.count ? m->resident.items.items[k]
                                                           : (struct extent){end, end};
            uint64_t from = in.start < start ? start : in.start < end ? in.start : end;
            uint64_t to = in.end < end ? in.end : end;
            memset(out, 0, from - start);
            out += from - start;
            if (from < to) {
                there[pieces] = (struct iovec){(void *)(uintptr_t)from, to - from};
                here[pieces++] = (struct iovec){out, to - from};
                out += to - from;
            }
            start = from > to ? from : to;
            if (pieces == PIECES) {
                read_pieces(m->pid, there, here, pieces);
                pieces = 0;
            }
        }
    }
    read_pieces(m->pid, there, here, pieces);
}

int memory_try(const struct memory *m)
{
    char byte;
    for (size_t i = 0; i < m->regions.count; i++) {
        const struct region *each = &m->regions.items[i];
        struct iovec there = {(void *)(uintptr_t)each->start, 1}, here = {&byte, 1};
        if (each->kind == REGION_FILE && each->readable)
            return process_vm_readv(m->pid, &here, 1, &there, 1, 0) == 1 || errno == EFAULT
                       ? 0
                       : -errno;
    }
    return 0;
}

void memory_release(struct memory *m)
{
    vec_release(&m->regions);
    extents_release(&m->resident);
    *m = (struct memory){0};
}
