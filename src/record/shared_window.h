/*
 * shared_window: maps more of the memory that the program shares with the collector, when it is
 * needed. [malloc-free]
 */
#ifndef TIDE_RECORD_SHARED_WINDOW_H
#define TIDE_RECORD_SHARED_WINDOW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/recorder.h"

/*
 * Maps the `size` bytes of the file that follow `last_page`. Returns the address; 0: there is no
 * memory. The recorder keeps no descriptor of the file. But `last_page` is a mapping of the same
 * file, and mremap with an old size of 0 makes a longer copy of a shared mapping. The copy begins
 * with that page, which is not needed twice. If the program has locked its memory, the page is
 * unlocked first, because the kernel would make all pages of a copy of a locked page resident.
 */
static inline uintptr_t shared_window_map(uintptr_t last_page, size_t size)
{
    sys_call(SYS_munlock, last_page, (long)WIRE_PAGE);
    long copy = sys_call(SYS_mremap, last_page, 0L, size + WIRE_PAGE, (long)MREMAP_MAYMOVE, 0L);
    if (copy < 0 && copy > -4096)
        return 0;
    sys_call(SYS_munmap, copy, (long)WIRE_PAGE);
    sys_call(SYS_madvise, copy + WIRE_PAGE, size, (long)MADV_DONTDUMP);
    return (uintptr_t)copy + WIRE_PAGE;
}

#endif
