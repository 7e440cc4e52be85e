/* Overwrites its initial environment with a title for ps, as servers do (redis, PostgreSQL, nginx), says "ready", and
 * waits until the file GO exists. With CLEAR it has no environment afterwards, as workers of php-fpm.
 * usage: titled GO [CLEAR] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    char *first = argc > 1 ? argv[0] : NULL, *end = first;
    size_t count = 0;
    if (!first)
        return 1;
    char *go = strdup(argv[1]);
    for (int i = 0; i < argc; i++)
        end = argv[i] + strlen(argv[i]) + 1;
    while (environ[count])
        count++;
    char **kept = calloc(count + 1, sizeof *kept);
    for (size_t i = 0; i < count; i++) {
        end = environ[i] + strlen(environ[i]) + 1;
        kept[i] = strdup(environ[i]);
    }
    environ = argc > 2 ? NULL : kept;
    for (size_t i = 0; argc > 2 && i < count; i++) {
        memset(kept[i], 0, strlen(kept[i]));
        free(kept[i]);
    }
    memset(first, 0, (size_t)(end - first));
    strcpy(first, "titled: waits");
    puts("ready");
    fflush(stdout);
    while (access(go, F_OK) != 0)
        usleep(10000);
    return 0;
}
