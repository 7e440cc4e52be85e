/*
 * Large blocks: when one is freed, how much of it was never touched?
 *
 * The kernel provides a page of fresh memory only when it is first touched, and mincore says which
 * pages are resident. That costs some ns per page and 2 us per block, far less than touching it
 * did. Memory that the allocator used before may still be resident: what is found untouched is a
 * lower bound. A block that realloc takes is not examined, but its result is.
 */
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "record/recorder.h"

#define PAGES 1024 /* examined in one call: bytes on the stack */
#define PAGE  page_bytes()
#define ONES  UINT64_C(0x0101010101010101)

/* A page in swap looks like one that was never touched. The whole machine is asked first, because
 * that is cheaper. */
bool pages_may_be_swapped(void)
{
    struct sysinfo machine;
    if (sys_call(SYS_sysinfo, &machine) != 0)
        return true;
    if (machine.totalswap == machine.freeswap)
        return false;
    char text[256];
    static const char word[] = "VmSwap:";
    size_t matched = 0;
    bool swapped = true, done = false;
    long n, fd = sys_call(SYS_openat, (long)AT_FDCWD, "/proc/self/status",
                          (long)(O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return true;
    while (!done && (n = sys_call(SYS_read, fd, text, sizeof text)) > 0)
        for (long i = 0; i < n && !done; i++) {
            if (matched < sizeof word - 1) {
                matched = text[i] == word[matched] ? matched + 1 : text[i] == word[0];
            } else if (text[i] >= '0' && text[i] <= '9') {
                swapped = text[i] != '0';
                done = true;
            }
        }
    sys_call(SYS_close, fd);
    return swapped;
}

/* Of so many pages from here on, how many are not resident; *first and *last: is that page one? */
static long absent_pages(uintptr_t page, size_t pages, bool *first, bool *last)
{
    uint64_t words[PAGES / 8] = {0};
    const unsigned char *there = (const unsigned char *)words; /* a byte a page: 1, if it is */
    if (sys_call(SYS_mincore, (long)page, (long)(pages * PAGE), words) != 0)
        return -1;
    long present = 0;
    for (size_t i = 0; i < (pages + 7) / 8; i++)
        present += (long)((words[i] & ONES) * ONES >> 56); /* the sum of its 8 bytes */
    *first = !(there[0] & 1);
    *last = !(there[pages - 1] & 1);
    return (long)pages - present;
}

bool pages_absent(uintptr_t start, uintptr_t end, size_t *absent)
{
    uintptr_t low = start & ~(PAGE - 1), high = (end + PAGE - 1) & ~(PAGE - 1);
    *absent = 0;
    for (uintptr_t page = low; page < high;) {
        size_t left = (high - page) / PAGE, pages = left < PAGES ? left : PAGES;
        bool first, last;
        long n = absent_pages(page, pages, &first, &last);
        if (n < 0)
            return false;
        *absent += (size_t)n * PAGE;
        if (page == low && first)
            *absent -= start - low;
        page += pages * PAGE;
        if (page == high && last)
            *absent -= high - end;
    }
    return true;
}

void large_freed(struct thread *t, void *p, size_t size, uint32_t account)
{
    size_t absent;
    uintptr_t start = (uintptr_t)p;
    if (!pages_absent(start, start + size, &absent) || (absent && pages_may_be_swapped()) ||
        !remark_room(t, WIRE_RECORD_MAX))
        return;
    event_word(t, WIRE_WORD(WIRE_NOTE, WIRE_NOTE_TOUCHED, start & WIRE_LOW48));
    event_word(t, absent);
    event_word(t, account);
    event_word(t, size);
    for (unsigned i = 4; i < WIRE_RECORD_MAX; i++)
        event_word(t, 0);
    event_publish(t);
}
