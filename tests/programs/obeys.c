/*
 * Does as it is told on stdin, one word at a time, and answers "done":
 *   aN  allocates N blocks of 1000 bytes    fN  frees the N oldest of them
 *   rN  reallocates the N oldest to 1500    cN  forks a child that allocates N and ends
 *   dN  forks a child that frees the N oldest, allocates one and ends
 * It ends at the end of stdin. It uses no stdio, so that nothing else allocates.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *blocks[100000];
static int count, oldest;

static void allocate(int n)
{
    while (n-- > 0)
        memset(blocks[count++] = malloc(1000), 1, 1000);
}

int main(void)
{
    char word[16];
    for (ssize_t size; (size = read(0, word, sizeof word - 1)) > 0;) {
        word[size] = '\0';
        int n = atoi(word + 1);
        if (word[0] == 'a')
            allocate(n);
        for (; word[0] == 'f' && n > 0; n--)
            free(blocks[oldest++]);
        for (int i = 0; word[0] == 'r' && i < n; i++)
            blocks[oldest + i] = realloc(blocks[oldest + i], 1500);
        if (word[0] == 'c' || word[0] == 'd') {
            pid_t child = fork();
            if (!child) {
                for (; word[0] == 'd' && n > 0; n--)
                    free(blocks[oldest++]);
                allocate(word[0] == 'd' ? 1 : n);
                _exit(0);
            }
            waitpid(child, NULL, 0);
        }
        if (write(1, "done\n", 5) != 5)
            return 1;
    }
    return 0;
}
