/* runs PROGRAM ARGUMENTS...: runs it as a child, with the environment as it is; ends as that did. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int status = 0;
    pid_t child = argc > 1 ? fork() : -1;
    if (child == 0) {
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 126;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
