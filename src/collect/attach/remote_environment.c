#include "collect/attach/remote_environment.h"

#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "collect/attach/remote_module.h"

#define VARIABLES_MOST 8192

/* The address of the variable `environ`; 0: not found. A program that uses it may have its own
 * copy, which libc then uses too. The program is mapped before its libraries. */
static uint64_t find_environ(struct remote_modules *m)
{
    struct remote_module *libc = remote_module_named(m, "libc");
    struct remote_module *const in[] = {m->items.count ? m->items.items : NULL, libc};
    struct remote_function f;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        if (in[i] && (remote_function(m, in[i], "environ", &f) ||
                      remote_function(m, in[i], "__environ", &f)))
            return f.address;
    return 0;
}

static bool read_pointer(const struct remote_modules *m, uint64_t address, uint64_t *out)
{
    return remote_memory_read(&m->memory, address, out, sizeof *out) == (ssize_t)sizeof *out;
}

static void add_variables(const struct remote_modules *m, uint64_t list, const char *prefix,
                          struct strbuf *out)
{
    char text[REMOTE_VARIABLE_MOST];
    uint64_t at = 0;
    for (size_t i = 0; i < VARIABLES_MOST; i++, list += sizeof at) {
        if (!read_pointer(m, list, &at) || !at)
            return;
        ssize_t n = remote_memory_read(&m->memory, at, text, sizeof text);
        if (n > 0 && memchr(text, '\0', (size_t)n) && strncmp(text, prefix, strlen(prefix)) == 0)
            strbuf_add(out, text, strlen(text) + 1);
    }
}

char *remote_environment(pid_t pid, const char *prefix, size_t *size)
{
    struct remote_modules m;
    struct strbuf out = {0};
    uint64_t address, list;
    strbuf_puts(&out, "");
    if (remote_modules_open(&m, pid) == 0) {
        address = find_environ(&m);
        if (address && read_pointer(&m, address, &list))
            add_variables(&m, list, prefix, &out);
        remote_modules_release(&m);
    }
    *size = out.size;
    return strbuf_detach(&out);
}
