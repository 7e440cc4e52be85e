/* Reads suppressions: files in the formats of LeakSanitizer and valgrind, and rules of presets. */
#include "model/suppress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "model/pattern.h"

#define FILE_SIZE_MAX (16u << 20)

/* --- one rule --------------------------------------------------------------------------------- */

static const char *const allocation_functions[] = {"realloc",
                                                   "reallocarray", /* those up to here resize */
                                                   "malloc",
                                                   "calloc",
                                                   "memalign",
                                                   "valloc",
                                                   "pvalloc",
                                                   "posix_memalign",
                                                   "aligned_alloc",
                                                   "_Znwm",
                                                   "_Znam",
                                                   "_ZnwmRKSt9nothrow_t",
                                                   "_ZnamRKSt9nothrow_t",
                                                   "_ZnwmSt11align_val_t",
                                                   "_ZnamSt11align_val_t",
                                                   "_ZnwmSt11align_val_tRKSt9nothrow_t",
                                                   "_ZnamSt11align_val_tRKSt9nothrow_t",
                                                   "operator new(unsigned long)",
                                                   "operator new[](unsigned long)",
                                                   "operator new",
                                                   "operator new[]"};
#define RESIZING 2

/* Which allocation functions the place would match. */
static uint8_t allocation_of(enum place_kind kind, const char *glob)
{
    uint8_t set = 0;
    if (kind == PLACE_OBJECT &&
        glob_match(glob, "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so", true))
        return ALLOCATION_REALLOC | ALLOCATION_OTHER;
    size_t count = sizeof allocation_functions / sizeof *allocation_functions;
    for (size_t i = 0; kind == PLACE_FUNCTION && i < count; i++)
        if (glob_match(glob, allocation_functions[i], true))
            set |= i < RESIZING ? ALLOCATION_REALLOC : ALLOCATION_OTHER;
    return set;
}

/*
 * "_ZN3foo3barEv" -> "foo::bar", "_ZN3foo3ba*" -> "foo::ba*". Recordings have demangled names,
 * suppressions have those of the linker. Only nested names are understood; from the first other
 * construct on (templates, substitutions), anything matches. Arguments are not compared.
 */
static char *unmangled(const char *mangled)
{
    struct strbuf out = {0};
    const char *s = mangled + 2, *last = NULL;
    size_t last_size = 0;
    bool nested = *s == 'N', whole = false;
    for (s += nested; *s && strchr("KVrL", *s); s++)
        ;
    strbuf_puts(&out, "");
    if (!text_begins(s, "12_GLOBAL__N_1") && text_begins(s, "St")) {
        strbuf_puts(&out, "std::");
        s += 2;
    }
    while (*s) {
        size_t length = 0;
        const char *id = s;
        if (*s >= '0' && *s <= '9') {
            for (; *id >= '0' && *id <= '9' && length < 4096; id++)
                length = length * 10 + (size_t)(*id - '0');
            size_t there = strcspn(id, "*?");
            last = id;
            last_size = length < there ? length : there;
            if (last_size < length && !id[last_size])
                break; /* cut off: not a complete name */
            if (length == 12 && text_begins(id, "_GLOBAL__N_1"))
                strbuf_puts(&out, "(anonymous namespace)");
            else
                strbuf_add(&out, last, last_size);
            s = id + last_size;
        } else if (last && nested && (*s == 'C' || *s == 'D') && s[1] >= '0' && s[1] <= '5') {
            strbuf_puts(&out, *s == 'D' ? "~" : "");
            strbuf_add(&out, last, last_size);
            s += 2;
        } else {
            whole = last && (!nested || *s == 'E');
            break;
        }
        whole = !nested && !strchr("*?I", *s);
        if (!nested || !*s || *s == '*' || *s == '?')
            break;
        if (*s == 'E') {
            whole = true;
            break;
        }
        if (*s != 'I')
            strbuf_puts(&out, "::");
    }
    if (!whole)
        strbuf_putc(&out, '*');
    return strbuf_detach(&out);
}

static void add_place(struct suppressions *s, enum place_kind kind, char *text)
{
    struct place p = {.kind = kind, .text = text};
    p.allocation = allocation_of(kind, text);
    if (kind == PLACE_FUNCTION && !p.allocation && text_begins(text, "_Z") && text[2]) {
        p.text = unmangled(text);
        p.is_mangled = true;
        free(text);
    }
    *vec_push(&s->places) = p;
    vec_last(&s->rules)->count++;
}

static struct suppression *add_rule(struct suppressions *s, char *name)
{
    struct suppression *rule = vec_push(&s->rules);
    *rule = (struct suppression){
        .name = name, .first = (uint32_t)s->places.count, .leak_kinds = LEAK_KINDS};
    return rule;
}

/* Some allocation functions call others ("fun:memalign", "fun:posix_memalign"); these count as one
 * frame. */
static void join_allocations(struct suppressions *s)
{
    struct suppression *rule = vec_last(&s->rules);
    struct place *p = &s->places.items[rule->first];
    while (rule->count > 1 && p[0].allocation && p[1].allocation && p[1].kind == PLACE_FUNCTION &&
           !strpbrk(p[1].text, "*?")) {
        p[0].allocation |=
            p[1].allocation; /* the place does not say which of them the program called */
        free(p[1].text);
        memmove(p + 1, p + 2, (rule->count - 2) * sizeof *p);
        rule->count--;
        s->places.count--;
    }
}

static void drop_last(struct suppressions *s)
{
    struct suppression *rule = vec_last(&s->rules);
    while (s->places.count > rule->first) {
        struct place *p = &s->places.items[--s->places.count];
        free(p->text);
        free(p->object);
    }
    free(rule->name);
    s->rules.count--;
}

/* --- files ------------------------------------------------------------------------------------ */

struct lines {
    const char *at, *end;
    const char *file;
    unsigned number;
    char *line; /* the last line read, trimmed; owned */
};

/* The next line that is neither empty nor a comment; false: there is none. */
static bool next_line(struct lines *l)
{
    static const char blanks[] = " \t\r\f\v";
    while (l->at < l->end) {
        const char *start = l->at, *newline = memchr(start, '\n', (size_t)(l->end - start));
        const char *stop = newline ? newline : l->end;
        l->at = newline ? newline + 1 : l->end;
        l->number++;
        while (start < stop && memchr(blanks, *start, sizeof blanks - 1))
            start++;
        while (stop > start && memchr(blanks, stop[-1], sizeof blanks - 1))
            stop--;
        if (start == stop || *start == '#')
            continue;
        free(l->line);
        l->line = xstrndup(start, (size_t)(stop - start));
        return true;
    }
    return false;
}

#define WRONG(l, err, ...) wrong(l, err, xasprintf(__VA_ARGS__))

static int wrong(const struct lines *l, struct err *err, char *what)
{
    err_set(err, -EINVAL, "%s:%u: %s", l->file, l->number, what);
    free(what);
    return -EINVAL;
}

/* "leak:pattern": a part of a name, with ^ and $ for its ends. */
static int take_sanitizer_line(struct suppressions *s, struct lines *l, struct err *err)
{
    const char *colon = strchr(l->line, ':');
    if (!colon || colon == l->line || strcspn(l->line, " \t") < (size_t)(colon - l->line))
        return WRONG(l, err, "'%.60s' is neither 'leak:PATTERN' (LeakSanitizer) nor '{' (valgrind)",
                     l->line);
    if (!text_begins(l->line, "leak:"))
        return 0; /* for another sanitizer */
    const char *pattern = colon + 1;
    size_t size = strlen(pattern);
    bool start = *pattern == '^', end = size > 0 && pattern[size - 1] == '$';
    if (size <= (size_t)start + end)
        return WRONG(l, err, "nothing follows 'leak:'");
    struct strbuf glob = {0};
    strbuf_puts(&glob, start ? "" : "*");
    strbuf_add(&glob, pattern + start, size - start - end);
    strbuf_puts(&glob, end ? "" : "*");
    add_rule(s, xstrdup(l->line));
    add_place(s, PLACE_ANY_NUMBER, NULL);
    add_place(s, PLACE_EITHER, strbuf_detach(&glob));
    return 0;
}

/* Parses "definite,possible" after "match-leak-kinds:". */
static int take_kinds(struct suppression *rule, struct lines *l, struct err *err)
{
    static const struct {
        const char *word;
        uint8_t kinds;
    } words[] = {{"definite", LEAK_DEFINITE}, {"indirect", LEAK_INDIRECT},
                 {"possible", LEAK_POSSIBLE}, {"reachable", LEAK_REACHABLE},
                 {"all", LEAK_KINDS},         {"none", 0}};
    char *list = l->line + strlen("match-leak-kinds:"), *word;
    rule->leak_kinds = 0;
    while ((word = strsep(&list, ","))) {
        size_t i = 0, count = sizeof words / sizeof *words;
        word += strspn(word, " \t");
        word[strcspn(word, " \t")] = '\0';
        while (i < count && strcmp(words[i].word, word) != 0)
            i++;
        if (i == count)
            return WRONG(l, err,
                         "'%.60s' is no kind of leak; they are definite, indirect, possible, "
                         "reachable, all and none",
                         word);
        rule->leak_kinds |= words[i].kinds;
    }
    return 0;
}

/* Parses "file" or "file:line". */
static void add_source(struct suppressions *s, const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    bool has_line = digits && !colon[1 + digits];
    add_place(s, PLACE_SOURCE, has_line ? xstrndup(text, (size_t)(colon - text)) : xstrdup(text));
    if (has_line)
        vec_last(&s->places)->line = (uint32_t)strtoul(colon + 1, NULL, 10);
}

static int take_place(struct suppressions *s, struct lines *l, struct err *err)
{
    const char *text = l->line;
    if (strcmp(text, "...") == 0)
        add_place(s, PLACE_ANY_NUMBER, NULL);
    else if (text_begins(text, "fun:") && text[4])
        add_place(s, PLACE_FUNCTION, xstrdup(text + 4));
    else if (text_begins(text, "obj:") && text[4])
        add_place(s, PLACE_OBJECT, xstrdup(text + 4));
    else if (text_begins(text, "src:") && text[4])
        add_source(s, text + 4);
    else
        return WRONG(l, err, "'%.60s' is none of fun:NAME, obj:FILE, src:FILE:LINE and ...", text);
    return 0;
}

/* Is "Memcheck,Helgrind:Leak" about leaks that memcheck finds? */
static bool is_of_leaks(const char *tools)
{
    const char *colon = strrchr(tools, ':');
    const char *memcheck = strstr(tools, "Memcheck");
    return strcmp(colon + 1, "Leak") == 0 && memcheck && memcheck < colon;
}

/* Parses what is between "{" and "}": a name, the tools and the kind, the places. */
static int take_block(struct suppressions *s, struct lines *l, struct err *err)
{
    unsigned began = l->number;
    int code = 0;
    if (!next_line(l) || strcmp(l->line, "}") == 0)
        return WRONG(l, err, "the suppression that begins at line %u has no name", began);
    char *name = xstrdup(l->line);
    if (!next_line(l) || strcmp(l->line, "}") == 0 || !strchr(l->line, ':')) {
        free(name);
        return WRONG(l, err, "a line such as Memcheck:Leak must follow the name of a suppression");
    }
    bool wanted = is_of_leaks(l->line), closed = false, any = false;
    add_rule(s, name)->from_allocation = true;
    while (!code && !closed && next_line(l)) {
        if (strcmp(l->line, "}") == 0)
            closed = true;
        else if (!wanted)
            continue;
        else if (text_begins(l->line, "match-leak-kinds:") && !vec_last(&s->rules)->count)
            code = take_kinds(vec_last(&s->rules), l, err);
        else
            code = take_place(s, l, err);
        any |= !code && !closed && strcmp(l->line, "...") != 0;
    }
    if (!code && !closed)
        code = WRONG(l, err, "the suppression that begins at line %u has no '}'", began);
    if (!code && wanted && !vec_last(&s->rules)->count)
        code = WRONG(l, err,
                     "the suppression that begins at line %u has no fun:, obj: or src:", began);
    else if (!code && wanted && !any)
        code = WRONG(l, err, "the suppression that begins at line %u has nothing but '...'", began);
    if (code || !wanted)
        drop_last(s);
    else
        join_allocations(s);
    return code;
}

int suppressions_parse(struct suppressions *s, const char *text, size_t size, const char *file,
                       struct err *err)
{
    struct lines l = {.at = text, .end = text + size, .file = file};
    int code = 0;
    if (memchr(text, '\0', size))
        return err_set(err, -EINVAL, "%s is not a text, so no suppression file", file);
    while (!code && next_line(&l))
        code = strcmp(l.line, "{") == 0 ? take_block(s, &l, err) : take_sanitizer_line(s, &l, err);
    free(l.line);
    return code;
}

int suppressions_read(struct suppressions *s, const char *path, struct strbuf *text,
                      struct err *err)
{
    struct strbuf own = {0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set(err, -EINVAL, "cannot open the suppression file %s: %s", path,
                       strerror(errno));
    int code = 0;
    ssize_t n = 0;
    if (fstat(fd, &st) || fcntl(fd, F_SETFL, 0) || !(S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode))) {
        code = err_set(err, -EINVAL, "cannot read suppressions from %s: it is not a file", path);
        goto out;
    }
    strbuf_puts(&own, "");
    do {
        char buffer[16384];
        n = read(fd, buffer, sizeof buffer);
        if (n > 0)
            strbuf_add(&own, buffer, (size_t)n);
    } while ((n > 0 || (n < 0 && errno == EINTR)) && own.size <= FILE_SIZE_MAX);
    if (n < 0)
        code =
            err_set(err, -EINVAL, "cannot read the suppression file %s: %s", path, strerror(errno));
    else if (own.size > FILE_SIZE_MAX)
        code = err_set(err, -EINVAL, "%s is larger than 16 MiB, so no suppression file", path);
    else
        code = suppressions_parse(s, own.data, own.size, path, err);
    if (!code && text)
        strbuf_add(text, own.data, own.size);
out:
    strbuf_release(&own);
    close(fd);
    return code;
}

void suppressions_add_preset(struct suppressions *s, uint32_t preset, const char *name,
                             const char *places)
{
    char *copy = xstrdup(places), *rest = copy, *word;
    add_rule(s, xstrdup(name))->preset = preset;
    for (; (word = rest);) {
        char *next = strstr(word, " < ");
        rest = next ? next + 3 : NULL;
        if (next)
            *next = '\0';
        char *mark = strchr(word, '!');
        const char *function = mark ? mark + 1 : word;
        bool any = strcmp(function, "...") == 0;
        *vec_push(&s->places) =
            (struct place){.kind = any ? PLACE_ANY_NUMBER : PLACE_FUNCTION,
                           .text = any ? NULL : xstrdup(function),
                           .object = mark ? xstrndup(word, (size_t)(mark - word)) : NULL};
        vec_last(&s->rules)->count++;
    }
    free(copy);
}

void suppressions_release(struct suppressions *s)
{
    for (size_t i = 0; i < s->rules.count; i++)
        free(s->rules.items[i].name);
    for (size_t i = 0; i < s->places.count; i++) {
        free(s->places.items[i].text);
        free(s->places.items[i].object);
    }
    vec_release(&s->rules);
    vec_release(&s->places);
}
