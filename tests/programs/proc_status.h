/* What /proc/self/status says of the program itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A size, for example "VmRSS:", in MiB. */
static long status_mib(const char *name)
{
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, name, strlen(name)) == 0)
            kib = atol(line + strlen(name));
    if (status)
        fclose(status);
    return kib / 1024;
}
