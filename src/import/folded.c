/*
 * Folded stacks, as stackcollapse and others write them: "main;f;g 123", the outermost frame first.
 *
 * The file has one number for each stack, and does not say of what: --metric does. It has no files,
 * lines, libraries, threads or times. The suffix "_[k]" is the kernel, "_[i]" inlined, "_[j]"
 * compiled at run time.
 */
#include <errno.h>
#include <string.h>

#include "import/figures.h"

/* Cuts off the number at the end of a line; false: there is none. */
static bool take_number(char *line, uint64_t *out)
{
    char *space = strrchr(line, ' ');
    const char *at = space ? space + 1 : "";
    uint64_t rounded = 0;
    if (!space || !import_number(&at, out))
        return false;
    if (*at == '.') { /* fractions occur: they are rounded */
        at++;
        rounded = *at >= '5' && *at <= '9';
        at += strspn(at, "0123456789");
    }
    if (*at || *out == UINT64_MAX)
        return false;
    *out += rounded;
    while (space > line && space[-1] == ' ')
        space--;
    *space = '\0';
    return true;
}

static bool is_binary(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)bytes[i] < ' ' && !strchr("\t\n\r", bytes[i]))
            return true;
    return memchr(bytes, 0, size) != NULL;
}

bool folded_is(const char *bytes, size_t size)
{
    size_t length = strcspn(bytes, "\n");
    uint64_t number;
    if (is_binary(bytes, size < 4096 ? size : 4096))
        return false;
    if (length == size) /* one line that does not end here, or not at all */
        return size == INPUT_PIECE || strrchr(bytes, ' ') != NULL;
    char *line = xstrndup(bytes, length);
    if (length && line[length - 1] == '\r')
        line[length - 1] = '\0';
    bool is = line[0] == '#' || take_number(line, &number);
    free(line);
    return is;
}

static struct imported_frame frame_of(char *name)
{
    struct imported_frame f = {.function = name};
    size_t size = strlen(name);
    if (size < 4 || name[size - 4] != '_' || name[size - 3] != '[' || name[size - 1] != ']')
        return f;
    if (name[size - 2] == 'k')
        f.module = "[kernel]";
    else if (name[size - 2] == 'i')
        f.kind = FRAME_INLINED;
    else if (name[size - 2] != 'j')
        return f;
    name[size - 4] = '\0';
    return f;
}

static int add_line(struct figures *f, char *line, struct err *err)
{
    struct import *m = f->import;
    enum import_metric metric = m->request->metric;
    uint64_t value;
    uint32_t node = 0, depth = 0;
    if (!*line || *line == '#')
        return 0;
    if (!take_number(line, &value))
        return import_bad_line(m, "it does not end in a number: stacks are a;b;c 123", err);
    for (char *rest = line, *name; (name = strsep(&rest, ";"));) {
        const struct imported_frame frame = frame_of(name);
        if (++depth > IMPORT_DEPTH)
            return import_bad_line(m, "the stack is deeper than any", err);
        node = stacks_node(&m->stacks, node, stacks_frame(&m->stacks, &frame));
    }
    uint32_t site = figures_site(f, node, 0, metric == IMPORT_SAMPLES ? DOMAIN_CPU : DOMAIN_HEAP);
    struct figure v = {0};
    if (metric == IMPORT_PEAK)
        v.peak_bytes = value;
    else
        v.bytes = value;
    if (metric == IMPORT_SAMPLES)
        v.blocks = value;
    if (metric == IMPORT_LIVE)
        v.live_bytes = value;
    if (metric == IMPORT_PEAK)
        m->profile->peak_bytes += value;
    figures_add(f, site, &v);
    return 0;
}

int folded_import(struct import *m, struct err *err)
{
    static const uint32_t known[IMPORT_METRICS] = {
        [IMPORT_SAMPLES] = 0,
        [IMPORT_TOTAL] = UNKNOWN_TOTALS,
        [IMPORT_LIVE] = UNKNOWN_LIVE,
        [IMPORT_PEAK] = UNKNOWN_PEAK,
    };
    struct figures f;
    char *line;
    int code;
    import_from(m, UNKNOWN_ALL & ~known[m->request->metric], "folded stacks");
    if (m->request->metric == IMPORT_SAMPLES)
        m->profile->sampling = (struct sampling){.alone = true, .cpu_period_ns = 1};
    figures_init(&f, m);
    import_no_threads(m);
    while ((code = input_line(m->in, &line, err)) > 0)
        if ((code = add_line(&f, line, err)) || (code = import_check(m, figures_memory(&f), err)))
            break;
    if (!code && !m->profile->sites.count)
        code = err_set(err, -ENODATA, "%s has no stacks: one a line, a;b;c 123", m->in->name);
    if (!code)
        figures_finish(&f);
    figures_release(&f);
    return code;
}
