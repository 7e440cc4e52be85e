#include "collect/attach/remote_stack.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "machine/remote.h"
#include "unwind/copied_stack.h"

#define HEADERS_MOST 64
#define TABLES_MOST  (UINT64_C(256) << 20)
#define STACK_MOST   (UINT64_C(64) << 20)

struct remote_space {
    struct copied_stack copied;
    struct remote_modules *modules;
};

static bool get(const struct remote_modules *m, uint64_t address, void *out, size_t size)
{
    return remote_memory_read(&m->memory, address, out, size) == (ssize_t)size;
}

/* Copies the segment that holds the unwind tables, the first time. */
static bool read_tables(const struct remote_modules *m, struct remote_module *f)
{
    Elf64_Ehdr e;
    Elf64_Phdr headers[HEADERS_MOST], *tables = NULL;
    uint64_t first = UINT64_MAX;
    if (f->tables_read)
        return f->tables != NULL;
    f->tables_read = true;
    if (!get(m, f->start, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.e_phentsize != sizeof *headers || e.e_phnum > HEADERS_MOST ||
        !get(m, f->start + e.e_phoff, headers, e.e_phnum * sizeof *headers))
        return false;
    for (unsigned i = 0; i < e.e_phnum; i++) {
        if (headers[i].p_type == PT_LOAD && headers[i].p_vaddr < first)
            first = headers[i].p_vaddr & ~UINT64_C(4095);
        if (headers[i].p_type == PT_GNU_EH_FRAME)
            tables = &headers[i];
    }
    for (unsigned i = 0; tables && i < e.e_phnum; i++) {
        const Elf64_Phdr *p = &headers[i];
        if (p->p_type != PT_LOAD || tables->p_vaddr < p->p_vaddr ||
            tables->p_vaddr >= p->p_vaddr + p->p_filesz || p->p_filesz > TABLES_MOST)
            continue;
        f->tables = xmalloc(p->p_filesz);
        f->tables_size = p->p_filesz;
        f->tables_address = f->start - first + p->p_vaddr;
        f->tables_header = tables->p_vaddr - p->p_vaddr;
        if (get(m, f->tables_address, f->tables, f->tables_size))
            return true;
        free(f->tables);
        f->tables = NULL;
    }
    return false;
}

static int find_tables(const struct unwind_space *self, uint64_t address, struct unwind_module *out)
{
    const struct remote_space *space =
        (const void *)((const char *)self - offsetof(struct remote_space, copied.space));
    struct remote_module *f = remote_module_at(space->modules, address);
    if (!f || !read_tables(space->modules, f))
        return -1;
    const uint8_t *begin = (const uint8_t *)f->tables;
    out->epoch = 0;
    out->cfi = (struct cfi_section){.begin = begin,
                                    .end = begin + f->tables_size,
                                    .header = begin + f->tables_header,
                                    .delta = f->tables_address - (uint64_t)(uintptr_t)begin};
    return 0;
}

static int read_code(const struct unwind_space *self, uint64_t address, uint64_t *out)
{
    const struct remote_space *space =
        (const void *)((const char *)self - offsetof(struct remote_space, copied.space));
    return get(space->modules, address, out, sizeof *out) ? 0 : -1;
}

uint32_t remote_stack(struct remote_modules *m, const struct user_regs_struct *r, uint64_t end,
                      uint64_t frames[REMOTE_FRAMES])
{
    struct arch_registers registers;
    enum copied_end how = COPIED_LOST;
    remote_unwind_registers(r, &registers);
    uint64_t start = registers.value[ARCH_REG_SP];
    if (end <= start || end - start > STACK_MOST)
        return 0;
    uint8_t *stack = xmalloc(end - start);
    struct remote_space space = {.copied = {.space = {.find = find_tables, .code = read_code},
                                            .rules = xcalloc(1, sizeof *space.copied.rules),
                                            .bytes = stack,
                                            .start = start,
                                            .size = end - start},
                                 .modules = m};
    uint32_t count = get(m, start, stack, end - start)
                         ? copied_walk(&space.copied, &registers, frames, REMOTE_FRAMES, &how)
                         : 0;
    free(space.copied.rules);
    free(stack);
    return how == COPIED_WHOLE ? count : 0;
}
