/*
 * folded: the text that stackcollapse writes and flamegraph.pl reads. It holds one metric at one
 * moment, or a signed difference. It loses counts, files, lines, libraries, threads and times.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/flame.h"
#include "export/flame_stacks.h"

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A name inside a stack must not look like the end of the stack. */
static void put_name(struct strbuf *out, const char *name)
{
    for (; *name; name++)
        strbuf_putc(out, *name == ';' ? ':' : *name == '\n' ? ' ' : *name);
}

static void put_stack(const struct flame *f, uint32_t node, struct strbuf *out)
{
    VEC(uint32_t) path = {0};
    for (uint32_t n = node; n; n = f->nodes.items[n].parent)
        *vec_push(&path) = n;
    for (size_t i = path.count; i-- > 0;) {
        const struct flame_node *n = &f->nodes.items[path.items[i]];
        put_name(out, strpool_get(&f->names, n->name));
        if (n->place) {
            strbuf_putc(out, ' ');
            put_name(out, strpool_get(&f->names, n->place));
        }
        strbuf_puts(out, i ? ";" : "");
    }
    vec_release(&path);
}

void flame_write_folded(const struct flame *f, bool both, struct strbuf *out)
{
    size_t n = f->nodes.count;
    int64_t *now = xcalloc(n, sizeof *now), *before = xcalloc(n, sizeof *before);
    VEC(char *) lines = {0};
    for (size_t i = 0; i < n; i++) { /* back to the values of each node itself */
        const struct flame_node *node = &f->nodes.items[i];
        now[i] = (int64_t)((uint64_t)now[i] + (uint64_t)node->now);
        before[i] = (int64_t)((uint64_t)before[i] + (uint64_t)node->before);
        if (i) {
            now[node->parent] = (int64_t)((uint64_t)now[node->parent] - (uint64_t)node->now);
            before[node->parent] =
                (int64_t)((uint64_t)before[node->parent] - (uint64_t)node->before);
        }
    }
    for (uint32_t i = 1; i < n; i++) {
        if (!now[i] && (!both || !before[i]))
            continue;
        struct strbuf line = {0};
        put_stack(f, i, &line);
        if (both)
            strbuf_printf(&line, " %lld", (long long)before[i]);
        strbuf_printf(&line, " %lld\n", (long long)now[i]);
        *vec_push(&lines) = strbuf_detach(&line);
    }
    if (lines.count)
        qsort(lines.items, lines.count, sizeof *lines.items, by_text);
    for (size_t i = 0; i < lines.count; i++) {
        strbuf_puts(out, lines.items[i]);
        free(lines.items[i]);
    }
    vec_release(&lines);
    free(before);
    free(now);
}

/* The suffixes of stackcollapse: _[k] kernel, _[i] inlined, _[j] jit. */
static enum flame_kind kind_of(char *name)
{
    size_t size = strlen(name);
    if (size < 4 || name[size - 4] != '_' || name[size - 3] != '[' || name[size - 1] != ']')
        return FLAME_NATIVE;
    enum flame_kind kind = name[size - 2] == 'k'   ? FLAME_KERNEL
                           : name[size - 2] == 'i' ? FLAME_INLINED
                                                   : FLAME_NATIVE;
    if (kind != FLAME_NATIVE)
        name[size - 4] = '\0';
    return kind;
}

/* Cuts off the number at the end of a line; false: there is none. */
static bool take_number(char *line, int64_t *out)
{
    char *space = strrchr(line, ' '), *end;
    if (!space || !space[1])
        return false;
    double value = strtod(space + 1, &end); /* fractions occur: they are rounded */
    if (*end || !(value > -9e18 && value < 9e18))
        return false;
    *out = (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
    while (space > line && space[-1] == ' ')
        space--;
    *space = '\0';
    return true;
}

static int add_line(struct flame *f, char *line, size_t number, bool *both, struct err *err)
{
    int64_t now, before = 0;
    VEC(struct flame_frame) frames = {0};
    if (!*line || *line == '#')
        return 0;
    if (!take_number(line, &now))
        return err_set(err, -EINVAL, "line %zu does not end in a number: stacks are a;b;c 123",
                       number);
    if (take_number(line, &before))
        *both = true;
    for (char *rest = line, *name; (name = strsep(&rest, ";"));)
        *vec_push(&frames) = (struct flame_frame){.kind = kind_of(name), .name = name};
    flame_add(f, frames.items, frames.count, before, now);
    vec_release(&frames);
    return 0;
}

int flame_read_folded(struct flame *f, const char *text, size_t size, bool *both, struct err *err)
{
    size_t number = 0;
    int code = 0;
    *both = false;
    for (const char *end = text + size; text < end && !code; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = newline ? (size_t)(newline - text) : (size_t)(end - text);
        char *line = xstrndup(text, length);
        size_t used = strlen(line);
        if (used && line[used - 1] == '\r')
            line[used - 1] = '\0';
        code = add_line(f, line, number + 1, both, err);
        free(line);
        text += length + 1;
    }
    if (!code && f->nodes.count < 2)
        code = err_set(err, -EINVAL, "there are no stacks: one a line, a;b;c 123");
    return code;
}

/* --- export ----------------------------------------------------------------------------------- */

int export_folded(struct export *e, struct err *err)
{
    const struct flame_shape shape = {0};
    struct query q = *e->query;
    struct flame flame;
    struct answer a;
    q.by = BY_STACK;
    int code = answer_query(&a, e->recording, &q, err);
    if (code)
        return code;
    flame_init(&flame);
    flame_add_stacks(&flame, &a, &shape, false);
    flame_finish(&flame, 0);
    flame_write_folded(&flame, false, e->out);
    flame_release(&flame);
    answer_release(&a);
    return 0;
}
