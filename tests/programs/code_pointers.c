/*
 * Blocks to which only memory points that the program may not write to any more, or that is code
 * which it has generated. Blocks are told apart by their sizes.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "scan_blocks.h"

#define PAGE 4096
#define ODD  3003 /* x86-64 has constants at any address */

static char *pages(int protection, int flags, int file)
{
    char *made = mmap(NULL, PAGE, protection, flags, file, 0);
    if (made == MAP_FAILED)
        _exit(1);
    return made;
}

static void protect(void *memory, int protection)
{
    if (mprotect(memory, PAGE, protection) != 0)
        _exit(1);
}

static void put(char *at, size_t size)
{
    void *of = block(size);
    memcpy(at, &of, sizeof of);
}

SITE static void generate_code(void)
{
    int all = PROT_READ | PROT_WRITE | PROT_EXEC, file = memfd_create("code", 0);
    put(pages(all, MAP_PRIVATE | MAP_ANONYMOUS, -1) + ODD, 3001);
    char *made = pages(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    put(made + ODD, 3002);
    protect(made, PROT_READ | PROT_EXEC);
    /* Mapped twice, so that it is never writable and executable at the same address. */
    if (file < 0 || ftruncate(file, PAGE) != 0)
        _exit(1);
    made = pages(PROT_READ | PROT_WRITE, MAP_SHARED, file);
    put(made + ODD, 3003);
    munmap(made, PAGE);
    known_sink = pages(PROT_READ | PROT_EXEC, MAP_SHARED, file);
    (void)*(volatile char *)known_sink; /* as if it had run */
    close(file);
}

SITE static void seal_data(void)
{
    char *made = pages(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    put(made, 3004);
    put(made + 8 + ODD, 3009); /* lost: it is not code */
    protect(made, PROT_READ);
    known_sink = made = aligned_alloc(PAGE, PAGE);
    memset(made, 0, PAGE);
    put(made, 3005);
    protect(made, PROT_READ);
}

int main(void)
{
    generate_code();
    seal_data();
    clear_stack();
    return 0;
}
