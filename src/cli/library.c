#include "cli/library.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

char *library_find(void)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(exe, '/');
    char *beside = xasprintf("%.*s/libtidemark.so", (int)(slash ? slash - exe : 0), exe);
    if (access(beside, R_OK) == 0)
        return beside;
    free(beside);
    return access(TIDEMARK_LIBRARY, R_OK) == 0 ? xstrdup(TIDEMARK_LIBRARY) : NULL;
}
