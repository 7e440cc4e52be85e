#include "analyse/source_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTS_MAX 64 /* folders of a path that is searched for */

int source_paths_add(struct source_paths *p, const char *given, struct err *err)
{
    struct stat status;
    const char *equals = strchr(given, '=');
    if (equals == given || (!equals && (stat(given, &status) != 0 || !S_ISDIR(status.st_mode))))
        return err_set(err, -EINVAL, "--source-path '%s' is neither a folder nor FROM=TO", given);
    *vec_push(&p->given) = given;
    return 0;
}

void source_paths_release(struct source_paths *p)
{
    vec_release(&p->given);
}

static bool read_all(struct source *s, const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;
    bool good = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                status.st_size <= (off_t)SOURCE_BYTES;
    char part[65536];
    ssize_t size = 0;
    strbuf_clear(&s->text);
    strbuf_puts(&s->text, "");
    while (good && s->text.size <= SOURCE_BYTES && (size = read(fd, part, sizeof part)) > 0)
        strbuf_add(&s->text, part, (size_t)size);
    if (fd >= 0)
        close(fd);
    if (!good || size < 0)
        return false;
    s->changed = status.st_mtime;
    s->path = xstrdup(path);
    return true;
}

static bool try(struct source *s, const char *path, struct strbuf *tried)
{
    if (read_all(s, path))
        return true;
    strbuf_printf(tried, "%s%s", tried->size ? ", " : "", path);
    return false;
}

static bool try_below(struct source *s, const char *folder, const char *path, struct strbuf *tried)
{
    struct strbuf name = {0};
    bool found = false;
    for (int parts = 0; parts < PARTS_MAX && path && !found; parts++) {
        path += strspn(path, "/");
        strbuf_clear(&name);
        strbuf_printf(&name, "%s/%s", folder, path);
        found = read_all(s, name.data);
        path = strchr(path, '/');
    }
    if (!found)
        strbuf_printf(tried, "%s%s", tried->size ? ", below " : "below ", folder);
    strbuf_release(&name);
    return found;
}

static bool try_instead(struct source *s, const char *given, const char *path, struct strbuf *tried)
{
    size_t from = strcspn(given, "=");
    if (strncmp(path, given, from) != 0)
        return false;
    struct strbuf name = {0};
    strbuf_printf(&name, "%s%s", given + from + 1, path + from);
    bool found = try(s, name.data, tried);
    strbuf_release(&name);
    return found;
}

void source_read(struct source *s, const struct source_paths *paths, const char *path,
                 struct strbuf *tried)
{
    bool found = false;
    for (size_t i = 0; i < paths->given.count && !found; i++) {
        const char *given = paths->given.items[i];
        found = strchr(given, '=') ? try_instead(s, given, path, tried)
                                   : try_below(s, given, path, tried);
    }
    if (!found && !try(s, path, tried))
        return;
    for (size_t at = 0; at < s->text.size;) {
        *vec_push(&s->lines) = at;
        const char *end = memchr(s->text.data + at, '\n', s->text.size - at);
        at = end ? (size_t)(end - s->text.data) + 1 : s->text.size;
    }
    *vec_push(&s->lines) = s->text.size;
}

void source_release(struct source *s)
{
    free(s->path);
    strbuf_release(&s->text);
    vec_release(&s->lines);
    *s = (struct source){0};
}

const char *source_line_text(const struct source *s, uint32_t line, size_t *size)
{
    if (!line || line >= s->lines.count)
        return NULL;
    size_t from = s->lines.items[line - 1], to = s->lines.items[line];
    while (to > from && (s->text.data[to - 1] == '\n' || s->text.data[to - 1] == '\r'))
        to--;
    *size = to - from;
    return s->text.data + from;
}
