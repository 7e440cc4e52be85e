/* Forks three workers, which set a title for ps as servers do: they overwrite the arguments. Each
 * holds memory for some time; the last is killed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(char *title, size_t size, int number)
{
    void *volatile block = malloc((size_t)number << 20);
    memset(title, 0, size);
    snprintf(title, size, "pool: worker %d", number);
    for (int i = 0; i < 100; i++) { /* something for the collector to notice */
        void *volatile more = malloc(1000);
        usleep(5000);
        free(more);
    }
    free(block);
    if (number == 3)
        raise(SIGKILL);
    _exit(0);
}

int main(int argc, char **argv)
{
    char *end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
    for (int i = 1; i <= 3; i++)
        if (fork() == 0)
            work(argv[0], (size_t)(end - argv[0]), i);
    while (wait(NULL) > 0)
        ;
    return 0;
}
