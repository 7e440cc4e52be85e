#include "analyse/debug_package.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"

#define LISTS "/var/lib/dpkg/info"

static bool lists(const char *list, const char *const *paths, size_t count)
{
    char name[PATH_MAX], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(name, sizeof name, LISTS "/%s", list);
    FILE *in = fopen(name, "r");
    for (ssize_t size; in && !found && (size = getline(&line, &room, in)) > 0;) {
        if (line[size - 1] == '\n')
            line[--size] = '\0';
        for (size_t i = 0; i < count; i++)
            found |= paths[i] && strcmp(line, paths[i]) == 0;
    }
    free(line);
    if (in)
        fclose(in);
    return found;
}

/* "libxml2:amd64.list" -> "libxml2-dbgsym"; the C library's package has an older form of name. */
static char *package_of(const char *list)
{
    char *name = xstrndup(list, strcspn(list, ":"));
    char *end = strrchr(name, '.');
    if (end && strcmp(end, ".list") == 0)
        *end = '\0';
    char *package = xasprintf("%s-%s", name, strcmp(name, "libc6") == 0 ? "dbg" : "dbgsym");
    free(name);
    return package;
}

char *debug_package(const char *path)
{
    /* /lib and /usr/lib are one folder; lists contain one path or the other. */
    char *real = realpath(path, NULL);
    const char *full = real ? real : path;
    const char *paths[] = {path, real, text_begins(full, "/usr/") ? full + 4 : NULL};
    DIR *folder = *full == '/' ? opendir(LISTS) : NULL;
    char *package = NULL;
    for (struct dirent *e; folder && !package && (e = readdir(folder));) {
        size_t size = strlen(e->d_name);
        if (size > 5 && strcmp(e->d_name + size - 5, ".list") == 0 &&
            lists(e->d_name, paths, sizeof paths / sizeof *paths))
            package = package_of(e->d_name);
    }
    if (folder)
        closedir(folder);
    free(real);
    return package;
}
