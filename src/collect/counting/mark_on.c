#include "collect/counting/mark_on.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "collect/counting/target.h"
#include "symbol/find_function.h"

#define LEFT_MAX 64 /* more notes would hide the rest */

struct looked_in {
    dev_t device;
    ino_t inode;
    struct timespec changed;
    struct found_functions functions;
};

void mark_on_init(struct mark_on *m, const char *const *names, size_t count)
{
    *m = (struct mark_on){.names = names,
                          .count = count,
                          .entered = xcalloc(count + 1, sizeof *m->entered),
                          .found = xcalloc(count + 1, sizeof *m->found)};
}

static const struct found_functions *functions_of(struct mark_on *m, const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0)
        return NULL;
    for (size_t i = 0; i < m->files.count; i++) {
        const struct looked_in *l = &m->files.items[i];
        if (l->inode == s.st_ino && l->device == s.st_dev &&
            memcmp(&l->changed, &s.st_mtim, sizeof l->changed) == 0)
            return &l->functions;
    }
    struct looked_in *l = vec_push(&m->files);
    *l = (struct looked_in){.device = s.st_dev, .inode = s.st_ino, .changed = s.st_mtim};
    find_functions(path, m->names, m->count, WIRE_FUNCTIONS_MAX + 1, &l->functions);
    return &l->functions;
}

/* The file as we can reach it: the program has no name in the loader's list, and names may be
 * relative to the process's folder. */
static char *path_of(pid_t pid, const char *file, const char *executable)
{
    if (file[0] == '/')
        return xstrdup(file);
    if (file[0])
        return xasprintf("/proc/%d/cwd/%s", pid, file);
    return executable ? xstrdup(executable) : xasprintf("/proc/%d/exe", pid);
}

void mark_on_left_alone(struct mark_on *m, pid_t pid, const char *file, uint32_t number,
                        uint32_t why)
{
    if (number <= m->count && m->left.count < LEFT_MAX)
        *vec_push(&m->left) =
            (struct left_alone){.pid = pid, .number = number, .why = why, .path = xstrdup(file)};
}

uint32_t mark_on_find(struct mark_on *m, pid_t pid, const char *file, const char *executable,
                      struct wire_function out[WIRE_FUNCTIONS_MAX])
{
    char *path = path_of(pid, file, executable);
    const struct found_functions *found = functions_of(m, path);
    uint32_t count = 0;
    for (size_t i = 0; found && i < found->items.count; i++) {
        const struct found_function *f = &found->items.items[i];
        m->found[f->name] = true;
        if (count == WIRE_FUNCTIONS_MAX) {
            mark_on_left_alone(m, pid, file, (uint32_t)f->name + 1, WIRE_LEFT_MANY);
            break;
        }
        struct wire_function *w = &out[count++];
        *w = (struct wire_function){.address = f->address,
                                    .size = f->shared ? 0 : f->size_bytes,
                                    .number = (uint32_t)f->name + 1};
        memcpy(w->code, f->code, sizeof w->code);
    }
    free(path);
    return count;
}

const char *mark_on_entered(struct mark_on *m, uint64_t number)
{
    if (!m || number == 0 || number > m->count)
        return NULL;
    m->entered[number - 1]++;
    return m->names[number - 1];
}

/* --- results ---------------------------------------------------------------------------------- */

static const char *reason(uint32_t why)
{
    switch ((enum wire_left)why) {
    case WIRE_LEFT_CODE:
        return "its first instructions cannot be replaced (it is too short, or jumps back to "
               "them); "
               "name a function that calls it, or one that it calls";
    case WIRE_LEFT_CHANGED:
        return "the code in memory is not that of the file; was the file replaced, or is another "
               "tool at work?";
    case WIRE_LEFT_TAKEN:
        return "it is the same function as an earlier one; its entries are marked under that name";
    case WIRE_LEFT_THREADS:
        return "the program had several threads before recording began";
    case WIRE_LEFT_NEEDED:
        return "tidemark itself calls it to make a mark; name a function that calls it";
    case WIRE_LEFT_HOOKED:
        return "tidemark counts its calls, and cannot make a mark inside one; name a function that "
               "calls it";
    case WIRE_LEFT_MANY:
        return "32 functions of that file are marked already, and no more can be, of this name or "
               "those after it; name fewer";
    case WIRE_LEFT_REFUSED:
        break;
    }
    return "code cannot be changed in this process (/proc/self/mem, or room near the code)";
}

static char *left_note(const struct mark_on *m, const struct left_alone *l)
{
    if (!l->number)
        return xasprintf(
            "--mark-on: functions of libraries that are loaded later by dlopen are not "
            "marked: %s",
            reason(l->why));
    return xasprintf("--mark-on: entries of %s%s%s are not marked: %s", m->names[l->number - 1],
                     *l->path ? " in " : "", l->path, reason(l->why));
}

static bool is_left_alone(const struct mark_on *m, size_t name)
{
    for (size_t i = 0; i < m->left.count; i++)
        if (m->left.items[i].number == name + 1)
            return true;
    return false;
}

void mark_on_explain(const struct mark_on *m, struct target *const *targets, size_t count,
                     pid_t program)
{
    if (!count)
        return;
    struct target *main = target_find(targets, count, program);
    main = main ? main : targets[0];
    for (size_t i = 0; i < m->left.count; i++) {
        const struct left_alone *l = &m->left.items[i];
        struct target *t = target_find(targets, count, l->pid);
        *vec_push(&(t ? t : main)->profile.notes) = left_note(m, l);
    }
    for (size_t i = 0; i < m->count; i++)
        if (!m->found[i])
            *vec_push(&main->profile.notes) = xasprintf(
                "--mark-on: no function %s was found in the program or its libraries; give "
                "its name as 'nm' or 'nm -DC' shows it, without parameters, and do not "
                "strip the file; a function that was inlined everywhere has none",
                m->names[i]);
        else if (!m->entered[i] && !is_left_alone(m, i))
            *vec_push(&main->profile.notes) =
                xasprintf("--mark-on: %s was found, but never entered; calls that the compiler "
                          "inlined are no entries, nor are those while an allocation is served",
                          m->names[i]);
}
