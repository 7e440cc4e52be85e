/* Reads the texts of the lines, and finds where the function begins and ends in them. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/annotate_parts.h"

/* Lines shown around those on stacks, if the function's extent is not known. */
#define AROUND      20
#define SOURCES_MAX 64 /* inlined code comes from many files, in hostile recordings from more */

static uint32_t source_of(struct annotation *a, uint32_t file)
{
    for (size_t i = 0; i < a->sources.count; i++)
        if (a->sources.items[i].file == file)
            return (uint32_t)i;
    if (a->sources.count == SOURCES_MAX)
        return 0;
    *vec_push(&a->sources) = (struct annotated_source){.file = file};
    return (uint32_t)a->sources.count - 1;
}

/* Finds the lines of the function itself, from its instructions and from stacks. */
static void find_lines(struct annotation *a)
{
    source_of(a, 0); /* for what has no file */
    for (size_t i = 0; i < a->places.count; i++) {
        struct annotated_place *p = &a->places.items[i];
        p->source = source_of(a, p->file);
        struct annotated_source *s = &a->sources.items[p->source];
        if (p->parent != PLACE_NONE || !p->line || !p->source)
            continue;
        s->first = !s->first || p->line < s->first ? p->line : s->first;
        s->last = p->line > s->last ? p->line : s->last;
    }
}

static size_t indentation(const char *text, size_t size, bool *blank)
{
    size_t at = 0;
    while (at < size && (text[at] == ' ' || text[at] == '\t'))
        at++;
    *blank = at == size || text[at] == '#';
    return at;
}

/* Does a definition like "def NAME(" begin here? */
static bool defines(const char *text, size_t size, const char *name)
{
    size_t length = strlen(name);
    const char *def = memmem(text, size, "def ", 4);
    if (!def || (def > text && !isspace((unsigned char)def[-1])))
        return false;
    def += 4;
    size -= (size_t)(def - text);
    return size > length && memcmp(def, name, length) == 0 &&
           !isalnum((unsigned char)def[length]) && def[length] != '_';
}

/* Python reports only the lines that ran; the indentation shows the whole function. */
static bool widen_python(struct annotated_source *s, const char *qualified)
{
    const char *dot = strrchr(qualified, '.'), *name = dot ? dot + 1 : qualified;
    size_t size, depth = 0;
    bool blank;
    uint32_t def = s->first;
    const char *text = NULL;
    while (def && (!(text = source_line_text(&s->text, def, &size)) || !defines(text, size, name)))
        def--;
    if (!def)
        return false;
    depth = indentation(text, size, &blank);
    s->first = def;
    for (uint32_t line = s->last + 1; (text = source_line_text(&s->text, line, &size)); line++) {
        size_t own = indentation(text, size, &blank);
        if (!blank && own <= depth)
            break;
        if (!blank)
            s->last = line;
    }
    return true;
}

/* Are all lines of the function known, not only those on stacks? */
static bool is_whole(const struct annotation *a)
{
    for (size_t i = 0; i < a->instructions.count; i++)
        if (a->instructions.items[i].place != PLACE_NONE)
            return true;
    return false;
}

static void widen(const struct annotation *a, struct annotated_source *s)
{
    uint32_t most = (uint32_t)s->text.lines.count - 1;
    /* Then it is in the same file. */
    if (s->first > a->declared && s->first - a->declared <= AROUND)
        s->first = a->declared ? a->declared : s->first;
    if (!s->first || is_whole(a) || (a->python && widen_python(s, a->name)))
        return;
    s->first = s->first > AROUND ? s->first - AROUND : 1;
    if (s->last < most)
        s->last = most - s->last > AROUND ? s->last + AROUND : most;
}

/* When the recorded code was built: the time of its file, or of the recording itself. */
static time_t made(const struct annotation *a, const char **what)
{
    struct stat status;
    for (size_t i = 0; i < a->codes.count; i++)
        if (a->codes.items[i].readable && stat(a->codes.items[i].module->path, &status) == 0) {
            *what = "the program was built";
            return status.st_mtime;
        }
    *what = "it was recorded";
    return (time_t)(a->answer.profile->start_unix_ns / 1000000000);
}

static void read_one(struct annotation *a, struct annotated_source *s)
{
    struct strbuf tried = {0};
    const char *path = strpool_get(&a->strings, s->file), *what;
    source_read(&s->text, &a->question->paths, path, &tried);
    if (!s->text.path && s->first)
        annotation_note(a,
                        "no source: %s is not there (looked for %s); --source-path FROM=TO or a "
                        "folder tells where it is",
                        path, tried.size ? tried.data : path);
    else if (s->text.path && s->first && s->text.changed > made(a, &what))
        annotation_note(a, "%s was changed after %s: lines may have moved", s->text.path, what);
    if (s->text.path)
        widen(a, s);
    strbuf_release(&tried);
}

void annotate_sources(struct annotation *a)
{
    find_lines(a);
    for (size_t i = 1; i < a->sources.count; i++)
        read_one(a, &a->sources.items[i]);
}
