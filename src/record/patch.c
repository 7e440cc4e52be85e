#include "record/patch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "record/attach.h"
#include "record/libc.h"
#include "record/recorder.h"

#define PAGE   page_bytes()
#define STRIDE (UINT64_C(1) << 18) /* distance of the places that are tried */

uint8_t patch_code[65536];

#define NO_FILE INT_MAX /* in place of a descriptor: /proc/self/mem cannot be opened */

static _Atomic bool is_open;

long patch_open(void)
{
    if (atomic_exchange(&is_open, true))
        return -EBUSY;
    long memory =
        sys_call(SYS_openat, (long)AT_FDCWD, "/proc/self/mem", (long)(O_RDWR | O_CLOEXEC));
    if (memory == -EACCES && recorder.late) /* the tool has ruled out a seccomp filter */
        return NO_FILE;
    if (memory < 0)
        atomic_store(&is_open, false);
    return memory;
}

void patch_close(long memory)
{
    if (memory < 0)
        return;
    if (memory != NO_FILE)
        sys_call(SYS_close, memory);
    atomic_store(&is_open, false);
}

void patch_forked(void)
{
    atomic_store(&is_open, false);
}

size_t patch_read(long memory, uint64_t address, uint64_t size)
{
    uint64_t page_end = (address + size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    size_t room = page_end - address < sizeof patch_code ? page_end - address : sizeof patch_code;
    struct iovec from = {(void *)(uintptr_t)address, room}, to = {patch_code, room};
    long n = memory == NO_FILE
                 ? sys_call(SYS_process_vm_readv, sys_call(SYS_getpid), &to, 1L, &from, 1L, 0L)
                 : sys_call(SYS_pread64, memory, patch_code, room, address);
    return n > 0 ? (size_t)n : 0;
}

bool patch_read_entry(struct patched *f, long memory, struct entry *out)
{
    size_t readable = patch_read(memory, f->address, f->size);
    *out = (struct entry){.address = f->address,
                          .code = patch_code,
                          .size = f->size < sizeof patch_code ? f->size : sizeof patch_code,
                          .readable = readable,
                          .hook = f->hook};
    memcpy(f->before, patch_code, sizeof f->before);
    return readable >= out->size;
}

bool patch_bytes(long memory, uint64_t address, const void *bytes, size_t size, int protection)
{
    uint64_t start = address & ~(uint64_t)(PAGE - 1), length = address + size - start;
    if (sys_call(SYS_pwrite64, memory, bytes, (long)size, address) == (long)size)
        return true;
    if (sys_call(SYS_mprotect, start, length, (long)(protection | PROT_WRITE)) != 0)
        return false;
    memcpy((void *)(uintptr_t)address, bytes, size);
    __builtin___clear_cache((char *)(uintptr_t)address, (char *)(uintptr_t)address + size);
    sys_call(SYS_mprotect, start, length, (long)protection);
    return true;
}

bool patch_write(long memory, uint64_t address, const uint8_t bytes[ENTRY_PATCH])
{
    return patch_bytes(memory, address, bytes, ENTRY_PATCH, PROT_READ | PROT_EXEC);
}

static uint8_t *map_at(uint64_t wanted, size_t size)
{
    uint64_t at = wanted & ~(uint64_t)(PAGE - 1);
    long p = sys_call(SYS_mmap, at, (long)size, (long)(PROT_READ | PROT_WRITE),
                      (long)(MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE), -1L, 0L);
    if (p == (long)at)
        return (uint8_t *)p;
    if (p > 0 || p < -4095)
        sys_call(SYS_munmap, p, (long)size); /* an old kernel took it as a hint */
    return NULL;
}

/* In a program that has run for a while, arenas and stacks surround its libraries. */
static uint8_t *search_island(uint64_t start, size_t size)
{
    uint8_t *island = NULL;
    for (uint64_t away = STRIDE; away < ENTRY_REACH / 2 && !island; away += STRIDE) {
        island = away + (1 << 16) <= start ? map_at(start - away, size) : NULL;
        island = island ? island : map_at(start + away, size);
    }
    return island;
}

uint8_t *patch_island(uint64_t start, size_t size)
{
    uint8_t *island = NULL;
    for (uint64_t below = 1 << 16; below < ENTRY_REACH / 2 && below + (1 << 16) <= start && !island;
         below *= 2)
        island = map_at(start - below, size);
    return island || !recorder.late ? island : search_island(start, size);
}

bool patch_make_executable(uint8_t *island, size_t size)
{
    __builtin___clear_cache((char *)island, (char *)island + size);
    return sys_call(SYS_mprotect, island, (long)size, (long)(PROT_READ | PROT_EXEC)) == 0;
}

/* An earlier one that is the same function under another name. */
static const struct patched *same_function(const struct patched *functions, const struct patched *f)
{
    for (const struct patched *g = functions; g < f; g++)
        if (g->address == f->address)
            return g;
    return NULL;
}

static bool make_all(struct patched *functions, size_t count, uint8_t *island, long memory)
{
    for (struct patched *f = functions; f < functions + count; f++) {
        const struct patched *same = f->address ? same_function(functions, f) : NULL;
        uint8_t *slot = island + (size_t)(f - functions) * ENTRY_SLOT;
        struct entry e;
        if (same)
            f->trampoline = same->trampoline;
        else if (f->address && (!patch_read_entry(f, memory, &e) ||
                                !entry_make(&e, slot, (uintptr_t)slot, f->patch, &f->trampoline)))
            return false;
    }
    return true;
}

/* If the kernel refuses half way, what was written is undone. */
static bool write_all(struct patched *functions, size_t count, long memory)
{
    for (struct patched *f = functions; f < functions + count; f++) {
        if (!f->address || same_function(functions, f) || patch_write(memory, f->address, f->patch))
            continue;
        while (f-- > functions)
            if (f->address && !same_function(functions, f))
                patch_write(memory, f->address, f->before);
        return false;
    }
    return true;
}

bool patch_all(struct patched *functions, size_t count, uint64_t start, long memory)
{
    size_t size = (count * ENTRY_SLOT + PAGE - 1) / PAGE * PAGE;
    uint8_t *island = patch_island(start, size);
    bool done =
        island && make_all(functions, count, island, memory) &&
        patch_make_executable(island, size) &&
        (recorder.late ? attach_list(functions, count) : write_all(functions, count, memory));
    if (done)
        recorder_own(island, size);
    else if (island)
        sys_call(SYS_munmap, island, (long)size);
    return done;
}
