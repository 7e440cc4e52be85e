#include "collect/proc/memory_room.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/proc/proc.h"

#define NO_LIMIT (UINT64_MAX / 4) /* cgroup version 1 says "no limit" by a very large number */

/* The two versions of cgroups use different names. */
struct version {
    const char *controllers; /* in /proc/PID/cgroup */
    const char *root, *limit, *used, *files[2];
};

static const struct version versions[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", {"active_file", "inactive_file"}},
    {"memory",
     "/sys/fs/cgroup/memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_active_file", "total_inactive_file"}},
};

static bool read_file(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

uint64_t memory_value(const char *text, const char *key)
{
    size_t size = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, size) == 0 && line[size] == ' ')
            return strtoull(line + size, NULL, 10);
    }
    return 0;
}

static bool read_group(const struct version *v, const char *path, const char *name, char *out,
                       size_t size)
{
    char *file = xasprintf("%s%s/%s", v->root, path, name);
    bool found = read_file(file, out, size);
    free(file);
    return found;
}

static uint64_t number_of(const struct version *v, const char *path, const char *name)
{
    char text[64], *end;
    if (!read_group(v, path, name, text, sizeof text))
        return UINT64_MAX;
    uint64_t value = strtoull(text, &end, 10);
    return end == text || value >= NO_LIMIT ? UINT64_MAX : value; /* "max" */
}

typedef void visit_fn(const struct version *v, const char *path, void *context);

/* Visits each cgroup of the process and all its parents. In a container the path may not exist;
 * then the mount point itself is the group. */
static void visit_groups(pid_t pid, visit_fn *visit, void *context)
{
    char text[4096], *rest = text;
    if (!proc_read_text(pid, "cgroup", text, sizeof text))
        return;
    for (char *path; (path = strsep(&rest, "\n"));) {
        strsep(&path, ":"); /* ID:CONTROLLERS:PATH */
        const char *controllers = path ? strsep(&path, ":") : NULL;
        for (size_t i = 0; path && i < sizeof versions / sizeof *versions; i++) {
            if (strcmp(controllers, versions[i].controllers) != 0)
                continue;
            for (char *slash;; *slash = '\0') {
                visit(&versions[i], path, context);
                slash = strrchr(path, '/');
                if (!slash)
                    break;
            }
        }
    }
}

static void take_limit(const struct version *v, const char *path, void *context)
{
    uint64_t *least = context, limit = number_of(v, path, v->limit);
    *least = limit < *least ? limit : *least;
}

uint64_t memory_cgroup_limit(pid_t pid)
{
    uint64_t least = UINT64_MAX;
    visit_groups(pid, take_limit, &least);
    return least;
}

static void take_less(struct memory_room *out, const struct memory_room *other)
{
    if (!out->limit ||
        (double)other->free / (double)other->limit < (double)out->free / (double)out->limit)
        *out = *other;
}

static void take_room(const struct version *v, const char *path, void *context)
{
    char stat[8192];
    uint64_t limit = number_of(v, path, v->limit), used = number_of(v, path, v->used), files = 0;
    if (limit == UINT64_MAX || used == UINT64_MAX || !limit)
        return;
    if (read_group(v, path, "memory.stat", stat, sizeof stat))
        files = memory_value(stat, v->files[0]) + memory_value(stat, v->files[1]);
    used -= files < used ? files : used;
    take_less(context,
              &(struct memory_room){.limit = limit, .free = used < limit ? limit - used : 0});
}

void memory_room_of(pid_t pid, struct memory_room *out)
{
    char text[4096];
    *out = (struct memory_room){0};
    visit_groups(pid, take_room, out);
    if (!read_file("/proc/meminfo", text, sizeof text))
        return;
    struct memory_room machine = {
        .limit = 1024 * memory_value(text, "MemTotal:"),
        .free = 1024 * (memory_value(text, "MemAvailable:") + memory_value(text, "SwapFree:")),
        .of_machine = true};
    if (machine.limit && strstr(text, "MemAvailable:"))
        take_less(out, &machine);
}
