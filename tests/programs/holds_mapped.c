/* Maps so many bytes and touches so many of them; then, where a third number is given, forks a
 * child that maps and touches so many itself. All of it stays for a while, so that somebody can
 * look. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WHILE_US 200000

__attribute__((noinline)) static void hold(size_t size, size_t touched)
{
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        exit(1);
    memset(p, 1, touched);
    usleep(WHILE_US);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 1;
    hold(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
    if (argc > 3) {
        pid_t child = fork();
        if (child == 0) {
            size_t size = strtoul(argv[3], NULL, 10);
            hold(size, size);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}
