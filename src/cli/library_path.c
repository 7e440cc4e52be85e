#include "cli/library_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

/* The file `relative` to the folder of this program, if it can be read; otherwise NULL. An absolute
 * path is returned unchanged. */
static char *from_here(const char *relative)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(exe, '/');
    char *path = *relative == '/'
                     ? xstrdup(relative)
                     : xasprintf("%.*s/%s", (int)(slash ? slash - exe : 0), exe, relative);
    char *resolved = realpath(path, NULL);
    free(path);
    if (resolved && access(resolved, R_OK) == 0)
        return resolved;
    free(resolved);
    return NULL;
}

char *library_find(struct err *err)
{
    if (access("/proc/self/exe", F_OK) != 0) {
        err_set(err, -ENOENT, "/proc is not mounted here, and tidemark cannot do without it");
        return NULL;
    }
    char *found = from_here("libtidemark.so");
    if (!found && !(found = from_here(TIDEMARK_LIBRARY))) {
        err_set(err, -ENOENT,
                "libtidemark.so can be read neither beside tidemark nor as %s from there; build or "
                "install again",
                TIDEMARK_LIBRARY);
        return NULL;
    }
    if (!strpbrk(found, " :"))
        return found;
    err_set(err, -EINVAL,
            "%s cannot be preloaded, because its path has a space or a colon; move tidemark to "
            "another folder",
            found);
    free(found);
    return NULL;
}
