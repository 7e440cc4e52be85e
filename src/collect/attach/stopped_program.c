#include "collect/attach/stopped_program.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/attach/attached_library.h"
#include "collect/attach/safe_point.h"
#include "collect/attach/scratch.h"
#include "machine/remote.h"
#include "machine/stopped.h"

void stopped_program_release(struct stopped_program *s)
{
    remote_modules_release(&s->modules);
    if (s->memory >= 0)
        close(s->memory);
}

int stopped_program_open(struct stopped_program *s, pid_t pid)
{
    *s = (struct stopped_program){.memory = -1};
    int code = remote_modules_open(&s->modules, pid);
    if (code)
        return code;
    s->library = attached_library_find(&s->modules);
    s->memory = memory_open_for_writing(pid);
    if (s->memory < 0 ||
        !attached_library_read(&s->modules, s->library, &s->table_address, &s->table)) {
        code = s->memory < 0 ? s->memory : -ENOENT;
        stopped_program_release(s);
    }
    return code;
}

int stopped_program_reopen(struct stopped_program *s)
{
    pid_t pid = s->modules.pid;
    stopped_program_release(s);
    return stopped_program_open(s, pid);
}

bool stopped_program_read_pc(pid_t tid, uint64_t *pc)
{
    struct user_regs_struct r;
    struct iovec area = {&r, sizeof r};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &area) != 0)
        return false;
    *pc = remote_pc(&r);
    return true;
}

static bool write_flag(const struct stopped_program *s, uint32_t patched)
{
    uint64_t at = s->table_address + offsetof(struct wire_attached, patched);
    return pwrite(s->memory, &patched, sizeof patched, (off_t)at) == (ssize_t)sizeof patched;
}

bool stopped_program_write_entries(const struct stopped_program *s, bool patched)
{
    const struct wire_attached *t = &s->table;
    if (patched && !write_flag(s, 1))
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct wire_patch *p = &t->patches[i];
        if (pwrite(s->memory, patched ? p->patch : p->before, t->patch_size, (off_t)p->address) !=
            (ssize_t)t->patch_size)
            return false;
    }
    return patched || write_flag(s, 0);
}

bool stopped_program_entries_are(const struct stopped_program *s, bool patched)
{
    for (uint32_t i = 0; i < s->table.count; i++) {
        const struct wire_patch *p = &s->table.patches[i];
        uint8_t bytes[WIRE_PATCH_BYTES];
        if (remote_memory_read(&s->modules.memory, p->address, bytes, s->table.patch_size) !=
            (ssize_t)s->table.patch_size)
            return false;
        if (memcmp(bytes, p->before, s->table.patch_size) != 0 &&
            (!patched || memcmp(bytes, p->patch, s->table.patch_size) != 0))
            return false;
    }
    return true;
}

bool stopped_program_find_worker(const struct stopped_program *s, struct remote_thread *out)
{
    for (size_t i = 0; i < s->threads.threads.count; i++) {
        const struct stopped_thread *t = &s->threads.threads.items[i];
        out->tid = t->tid;
        if (t->stopped && !t->signal && remote_save(out) == 0 &&
            safe_stack_is(&s->modules, out, t->tid == s->threads.pid))
            return true;
    }
    return false;
}
