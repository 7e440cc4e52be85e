/*
 * killed_at_end: processes that are killed while they end, each a little later than the one before.
 * All their blocks are in a list that a global variable points to: nothing is lost, ever.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

enum { PROCESSES = 12, BLOCKS = 100000, STEP_US = 2000 };

struct link {
    struct link *next;
};

static struct link *list;

SITE static void fill(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        struct link *l = malloc(48);
        l->next = list;
        list = l;
    }
}

int main(void)
{
    for (unsigned i = 0; i < PROCESSES; i++) {
        int ready[2];
        char byte = 0;
        if (pipe(ready) != 0)
            return 1;
        pid_t pid = fork();
        if (pid == 0) {
            fill();
            if (write(ready[1], &byte, 1) != 1)
                return 1;
            exit(0);
        }
        if (read(ready[0], &byte, 1) != 1)
            return 1;
        usleep(i * STEP_US);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(ready[0]);
        close(ready[1]);
    }
    return 0;
}
