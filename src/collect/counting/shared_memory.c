#include "collect/counting/shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/layout.h"

int shared_memory_new(size_t size, size_t mapped, void **memory)
{
    int fd = memfd_create("tidemark", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    /* Otherwise the mode is 0777: only we, and those we pass it to, may open it. */
    if (fchmod(fd, 0600) == 0 && ftruncate(fd, (off_t)size) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
        *memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (*memory != MAP_FAILED)
            return fd;
    }
    int code = -errno;
    close(fd);
    return code;
}

char *shared_memory_window(const void *before, size_t size)
{
    const char *last_page = (const char *)before + size / 2 - WIRE_PAGE;
    char *copy = mremap((void *)(uintptr_t)last_page, 0, size + WIRE_PAGE, MREMAP_MAYMOVE);
    if (copy == MAP_FAILED)
        return NULL;
    munmap(copy, WIRE_PAGE);
    return copy + WIRE_PAGE;
}
