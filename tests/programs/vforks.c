/* Children made by vfork, which allocate in their parent's memory and leave; the parent frees what
 * they left. */
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"

static void *volatile left;

SITE static void in_child(void)
{
    left = malloc(61);
    known_sink = malloc(62);
}

SITE static void in_parent(void)
{
    free(left);
    known_sink = malloc(63);
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        pid_t child = vfork();
        if (child == 0) {
            in_child();
            _exit(7);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
            return 3;
        in_parent();
    }
    return 0;
}
