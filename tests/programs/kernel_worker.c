/* Has a thread that the kernel made: io_uring reads from a pipe that stays empty. Where io_uring is
 * forbidden, it has none. */
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void read_in_the_kernel(void)
{
    static struct io_uring_params p;
    static char byte;
    int ends[2], fd = (int)syscall(SYS_io_uring_setup, 4, &p);
    if (fd < 0 || pipe(ends) != 0)
        return;
    char *ring = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry = mmap(NULL, p.sq_entries * sizeof *entry, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
    if (ring == MAP_FAILED || (void *)entry == MAP_FAILED)
        return;
    *entry = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                   .fd = ends[0],
                                   .addr = (uintptr_t)&byte,
                                   .len = 1,
                                   .flags = IOSQE_ASYNC};
    *(uint32_t *)(void *)(ring + p.sq_off.array) = 0;
    __atomic_store_n((uint32_t *)(void *)(ring + p.sq_off.tail), 1, __ATOMIC_RELEASE);
    syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0);
}

int main(void)
{
    read_in_the_kernel();
    puts("ready");
    fflush(stdout);
    for (;;) {
        free(malloc(100));
        usleep(1000);
    }
}
