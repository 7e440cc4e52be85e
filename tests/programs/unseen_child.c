/* A forked process that shares its pages with a child that no hook has seen, made by a system call
 * of its own. Both were forked from a program with a large heap. */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define INHERITED 20000
#define OWN       100

static void *volatile inherited[INHERITED], *volatile own[OWN];

int main(void)
{
    int end[2];
    char byte;
    for (int i = 0; i < INHERITED; i++)
        inherited[i] = malloc(40);
    pid_t worker = fork();
    if (worker == 0) {
        for (int i = 0; i < OWN; i++)
            own[i] = malloc(777);
        if (pipe(end) != 0)
            exit(1);
        if (syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L) ==
            0) { /* lives until the worker ends */
            close(end[1]);
            syscall(SYS_exit_group, read(end[0], &byte, 1));
        }
        exit(0);
    }
    return waitpid(worker, NULL, 0) != worker;
}
