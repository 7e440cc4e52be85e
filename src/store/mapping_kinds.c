#include "store/mapping_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"

#define GUARD_MOST (UINT64_C(64) << 10)
#define STACK_MIN  (UINT64_C(16) << 10)

/* What a mapped file is. */
enum file_kind { FILE_OTHER, FILE_LIBRARY, FILE_PROGRAM };

struct sorting {
    const struct profile *profile;
    const struct mapping *all;
    size_t count;
    enum file_kind *files;    /* indexed by name */
    enum mapping_kind *kinds; /* the result so far */
};

static const char *name_of(const struct sorting *s, const struct mapping *m)
{
    return strpool_get(&s->profile->map_names, m->name);
}

static bool is_file(const char *name)
{
    return name[0] == '/';
}

/* Memory that the kernel shows as a file, but which nobody can open. */
static bool is_shared_memory(const char *name)
{
    static const char *const names[] = {"/memfd:",   "/SYSV",          "/dev/shm/",
                                        "/dev/zero", "/anon_hugepage", "[anon_shmem"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_begins(name, names[i]))
            return true;
    return false;
}

/* The length without " (deleted)", which the kernel appends if the file was replaced. */
static size_t path_size(const char *name)
{
    static const char deleted[] = " (deleted)";
    size_t size = strlen(name), tail = sizeof deleted - 1;
    return size > tail && strcmp(name + size - tail, deleted) == 0 ? size - tail : size;
}

/* A file is a library if any part of it is executable. */
static void sort_files(struct sorting *s)
{
    const struct profile *p = s->profile;
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].flags & MAPPING_EXECUTE && is_file(name_of(s, &s->all[i])))
            s->files[s->all[i].name] = FILE_LIBRARY;
    struct strpool paths = {0}; /* paths of modules first, then of the program and the others */
    for (size_t k = 0; k < p->modules.count; k++)
        strpool_add(&paths, p->modules.items[k].path);
    size_t modules = paths.strings.count;
    uint32_t program = p->executable ? strpool_add(&paths, p->executable) : MAP_NONE;
    for (uint32_t n = 1; n < p->map_names.strings.count; n++) {
        const char *name = p->map_names.strings.items[n];
        uint32_t path = is_file(name) ? strpool_add_n(&paths, name, path_size(name)) : MAP_NONE;
        if (path < modules)
            s->files[n] = FILE_LIBRARY;
        if (path == program && is_file(name))
            s->files[n] = FILE_PROGRAM;
    }
    strpool_release(&paths);
}

static enum mapping_kind kind_of_file(const struct sorting *s, const struct mapping *m)
{
    enum file_kind file = s->files[m->name];
    if (file == FILE_OTHER)
        return KIND_FILE;
    /* Private pages in a read-only mapping: the loader has written addresses there. */
    bool is_data = m->flags & MAPPING_WRITE ||
                   (!(m->flags & MAPPING_EXECUTE) && m->kib[MAPPING_ANONYMOUS] > 0);
    if (file == FILE_PROGRAM)
        return is_data ? KIND_PROGRAM_DATA : KIND_PROGRAM_TEXT;
    return is_data ? KIND_LIBRARY_DATA : KIND_LIBRARY_TEXT;
}

static bool is_anonymous(const struct sorting *s, const struct mapping *m)
{
    return (!m->name || text_begins(name_of(s, m), "[anon:")) && !(m->flags & MAPPING_SHARED);
}

static bool is_untouchable(const struct mapping *m)
{
    return !(m->flags & (MAPPING_READ | MAPPING_WRITE | MAPPING_EXECUTE));
}

bool mapping_is_arena(const struct mapping *all, size_t i, size_t count)
{
    const struct mapping *m = &all[i], *after = i + 1 < count ? m + 1 : NULL;
    return m->start % MAPPING_ARENA == 0 && m->flags & MAPPING_WRITE && after &&
           after->start == m->end && is_untouchable(after) && after->end % MAPPING_ARENA == 0 &&
           after->end - m->start == MAPPING_ARENA;
}

static bool is_arena(const struct sorting *s, size_t i)
{
    return mapping_is_arena(s->all, i, s->count) && is_anonymous(s, &s->all[i + 1]);
}

/* Is it a thread's stack that the recorder did not report? glibc puts a guard below each stack. */
static bool is_guarded(const struct sorting *s, size_t i)
{
    const struct mapping *m = &s->all[i], *before = i ? m - 1 : NULL;
    return before && before->end == m->start && is_anonymous(s, before) && is_untouchable(before) &&
           before->end - before->start <= GUARD_MOST && m->flags & MAPPING_WRITE &&
           !(m->flags & MAPPING_EXECUTE) && m->end - m->start >= STACK_MIN;
}

static enum mapping_kind kind_of_anonymous(const struct sorting *s, size_t i)
{
    const struct mapping *m = &s->all[i];
    if (m->flags & MAPPING_ZEROED && i)
        return s->kinds[i - 1] == KIND_PROGRAM_DATA ? KIND_PROGRAM_DATA : KIND_LIBRARY_DATA;
    if (m->flags & MAPPING_BLOCKS || is_arena(s, i))
        return KIND_HEAP;
    return m->flags & MAPPING_STACK || is_guarded(s, i) ? KIND_STACK : KIND_ANONYMOUS;
}

static enum mapping_kind kind_of(const struct sorting *s, size_t i)
{
    const struct mapping *m = &s->all[i];
    const char *name = name_of(s, m);
    if (m->flags & MAPPING_OWN)
        return KIND_OWN;
    if (strcmp(name, "[heap]") == 0)
        return KIND_HEAP;
    if (text_begins(name, "[stack"))
        return KIND_STACK;
    if (is_shared_memory(name) || (!m->name && m->flags & MAPPING_SHARED))
        return KIND_SHARED;
    if (is_file(name))
        return kind_of_file(s, m);
    if (is_anonymous(s, m))
        return kind_of_anonymous(s, i);
    return text_begins(name, "[v") || text_begins(name, "[uprobes]") ? KIND_KERNEL : KIND_ANONYMOUS;
}

/* Guards of stacks and the reserved part of arenas get the kind of what they belong to. */
static void sort_untouchable(struct sorting *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct mapping *m = &s->all[i];
        if (s->kinds[i] != KIND_ANONYMOUS || !is_untouchable(m))
            continue;
        if (i && m[-1].end == m->start && s->kinds[i - 1] == KIND_HEAP && is_arena(s, i - 1))
            s->kinds[i] = KIND_HEAP;
        else if (i + 1 < s->count && m[1].start == m->end && s->kinds[i + 1] == KIND_STACK &&
                 m->end - m->start <= GUARD_MOST)
            s->kinds[i] = KIND_STACK;
        else if (i && m[-1].end == m->start && s->files[m[-1].name] == FILE_LIBRARY &&
                 i + 1 < s->count && m[1].start == m->end && m[1].name == m[-1].name)
            s->kinds[i] = KIND_LIBRARY_TEXT; /* a gap between the parts of a library */
    }
}

enum mapping_kind *mapping_kinds(const struct profile *p, const struct capture *c)
{
    size_t names = p->map_names.strings.count;
    struct sorting s = {.profile = p,
                        .all = c->count ? p->mappings.items + c->first : NULL,
                        .count = c->count,
                        .files = xcalloc(names + 1, sizeof *s.files),
                        .kinds = xcalloc(c->count + 1, sizeof *s.kinds)};
    sort_files(&s);
    for (size_t i = 0; i < s.count; i++)
        s.kinds[i] = kind_of(&s, i);
    sort_untouchable(&s);
    free(s.files);
    return s.kinds;
}
