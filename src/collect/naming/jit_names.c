#include "collect/naming/jit_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/registers.h"

#define LARGEST_FILE    (64 << 20)
#define LARGEST_CODE    (UINT64_C(1) << 30)
#define LONGEST_NAME    512
#define PYTHON          "py::" /* py::NAME:FILE */
#define HIGHEST_ADDRESS (UINT64_C(1) << ARCH_ADDRESS_BITS)

static bool take_hex(char **at, uint64_t *out)
{
    char *end;
    if (!strchr("0123456789abcdefABCDEF", **at) || !**at)
        return false;
    *out = strtoull(*at, &end, 16);
    if (*end != ' ')
        return false;
    *at = end + 1;
    return true;
}

/* Parses one line, which ends with 0. */
static void take_line(struct jit_names *j, char *line, uint32_t order)
{
    uint64_t start, size;
    if (!take_hex(&line, &start) || !take_hex(&line, &size) || !*line || !size ||
        size > LARGEST_CODE || start >= HIGHEST_ADDRESS)
        return;
    if (strlen(line) > LONGEST_NAME)
        line[LONGEST_NAME] = '\0';
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    *vec_push(&j->items) =
        (struct jit_name){.start = start, .end = start + size, .order = order, .name = line};
}

static int by_address(const void *a, const void *b)
{
    const struct jit_name *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

void jit_names_parse(struct jit_names *j, char *text)
{
    uint32_t order = 0;
    j->text = text;
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        take_line(j, line, order++);
    }
    if (j->items.count)
        qsort(j->items.items, j->items.count, sizeof *j->items.items, by_address);
}

/* Reads a file that belongs to us or, if we are root, to the program's user. It must be a regular
 * file. */
static char *read_own_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    char *text = NULL;
    size_t got = 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == geteuid() || !geteuid()) &&
        st.st_size <= LARGEST_FILE) {
        text = xmalloc((size_t)st.st_size + 1);
        for (ssize_t n; got < (size_t)st.st_size; got += (size_t)n)
            if ((n = read(fd, text + got, (size_t)st.st_size - got)) <= 0)
                break;
        text[got] = '\0';
    }
    close(fd);
    return text;
}

static void read_names(struct jit_names *j, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)pid);
    char *text = read_own_file(path);
    if (text)
        jit_names_parse(j, text);
}

const char *jit_names_find(const struct jit_names *j, uint64_t address)
{
    size_t at;
    BISECT(at, j->items.count, j->items.items[at].start <= address);
    return at && address < j->items.items[at - 1].end ? j->items.items[at - 1].name : NULL;
}

/* Code that is mapped from a file has the names of that file. */
static bool is_made_at_run_time(const struct module *m)
{
    return m->path[0] != '/' || m->path[1] == '/' || text_begins(m->path, "/memfd:");
}

void jit_names_read(struct jit_names *j, const struct profile *p)
{
    bool any = false;
    for (size_t i = 0; i < p->modules.count && !any; i++)
        any = is_made_at_run_time(&p->modules.items[i]);
    if (any && !j->text)
        read_names(j, (pid_t)p->pid);
}

bool jit_names_frame(const struct jit_names *j, const struct module *m, uint64_t address,
                     struct strpool *strings, struct frame *out)
{
    const char *name = j->items.count && is_made_at_run_time(m) ? jit_names_find(j, address) : NULL;
    if (!name)
        return false;
    const char *file =
        strncmp(name, PYTHON, strlen(PYTHON)) == 0 ? strchr(name + strlen(PYTHON), ':') : NULL;
    *out = (struct frame){.kind = file ? FRAME_PYTHON : FRAME_NATIVE};
    if (!file) {
        out->function = strpool_add(strings, name);
        out->module = strpool_add(strings, "[made at run time]");
        return true;
    }
    name += strlen(PYTHON);
    out->function = strpool_add_n(strings, name, (size_t)(file - name));
    out->file = out->module = strpool_add(strings, file + 1);
    return true;
}

void jit_names_release(struct jit_names *j)
{
    vec_release(&j->items);
    free(j->text);
    *j = (struct jit_names){0};
}
