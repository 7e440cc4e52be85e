#include "model/suppress_frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "model/function_name.h"
#include "model/pattern.h"

static bool part_matches(const char *glob, struct name_part part)
{
    char *copy = xstrndup(part.text, part.size);
    bool matches = glob_match(glob, copy, true);
    free(copy);
    return matches;
}

static bool function_matches(const struct place *p, const char *function)
{
    struct name_part bare = name_bare(function);
    if (glob_match(p->text, function, true) || part_matches(p->text, bare))
        return true;
    return p->is_mangled && part_matches(p->text, name_without_template(bare));
}

static bool object_matches(const struct place *p, const char *object)
{
    if (!p->object || !object)
        return !p->object;
    char *globs = xstrdup(p->object), *rest = globs, *glob;
    bool matches = false;
    while (!matches && (glob = strsep(&rest, "|")))
        matches = glob_match(glob, path_base(object), true);
    free(globs);
    return matches;
}

bool place_matches(const struct place *p, const struct place_subject *f)
{
    switch (p->kind) {
    case PLACE_FUNCTION:
        return object_matches(p, f->object) && f->function && function_matches(p, f->function);
    case PLACE_OBJECT:
        return f->object && glob_match(p->text, f->object, true);
    case PLACE_SOURCE:
        /* valgrind has file names as they were given to the compiler; ours are whole paths. */
        return f->file && (!p->line || p->line == f->line) &&
               (glob_match(p->text, f->file, true) ||
                glob_match(p->text, path_base(f->file), true));
    case PLACE_EITHER:
        return (f->function && glob_match(p->text, f->function, false)) ||
               (f->file && glob_match(p->text, f->file, false)) ||
               (f->object && glob_match(p->text, f->object, false));
    default:
        return false;
    }
}

bool place_passes(const struct place *p, const struct place_subject *f)
{
    return object_matches(p, f->object);
}
