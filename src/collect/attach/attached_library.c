#include "collect/attach/attached_library.h"

#include <errno.h>
#include <string.h>

#include "collect/attach/inject.h"

#define MEMORY_FILE "/memfd:" WIRE_ATTACH_NAME

struct remote_module *attached_library_find(struct remote_modules *m)
{
    for (size_t i = 0; i < m->items.count; i++)
        if (strncmp(m->items.items[i].path, MEMORY_FILE, sizeof MEMORY_FILE - 1) == 0 &&
            m->items.items[i].code_start)
            return &m->items.items[i];
    return NULL;
}

bool attached_library_read(struct remote_modules *m, struct remote_module *library,
                           uint64_t *address, struct wire_attached *out)
{
    struct remote_function f;
    if (!library || !remote_function(m, library, WIRE_ATTACH_OBJECT, &f) ||
        remote_memory_read(&m->memory, f.address, out, sizeof *out) != (ssize_t)sizeof *out ||
        out->magic != WIRE_ATTACH_MAGIC || out->version != WIRE_VERSION ||
        out->count > WIRE_ATTACH_PATCHES || !out->patch_size || out->patch_size > WIRE_PATCH_BYTES)
        return false;
    *address = f.address;
    return true;
}

bool inject_read(pid_t pid, struct wire_attached *out)
{
    struct remote_modules m;
    uint64_t address;
    if (remote_modules_open(&m, pid))
        return false;
    bool found = attached_library_read(&m, attached_library_find(&m), &address, out);
    remote_modules_release(&m);
    return found;
}

int attached_library_function(struct remote_modules *m, uint64_t *function,
                              struct wire_attached *there, struct err *err)
{
    struct remote_module *attached = attached_library_find(m);
    struct remote_function f;
    uint64_t address;
    *function = 0;
    *there = (struct wire_attached){0};
    for (size_t i = 0; i < m->items.count; i++)
        if (&m->items.items[i] != attached && strstr(m->items.items[i].path, "/" WIRE_ATTACH_NAME))
            return err_set(err, -EBUSY,
                           "process %d was started by 'tidemark run' and has the recorder already; "
                           "'tidemark ctl %d status' says whether it is recorded",
                           (int)m->pid, (int)m->pid);
    if (!attached)
        return 0;
    if (!attached_library_read(m, attached, &address, there) ||
        !remote_function(m, attached, WIRE_ATTACH_FUNCTION, &f))
        return err_set(err, -EBUSY,
                       "another version of tidemark was attached to process %d before; restart the "
                       "program, or use that version",
                       (int)m->pid);
    *function = f.address;
    return 0;
}
