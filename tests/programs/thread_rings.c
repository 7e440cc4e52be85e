/* thread_rings THREADS MEMORIES: so many threads allocate while all of them live. Exit status 0: the
 * recorder has mapped so many different shared memories for them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t all;
static void *volatile kept[1024];

static void *holds(void *number)
{
    kept[(size_t)number] = malloc(100);
    pthread_barrier_wait(&all);
    return NULL;
}

static int shared_memories(void)
{
    char line[4352];
    unsigned long inodes[1024], inode;
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (!strstr(line, "memfd:tidemark") || sscanf(line, "%*s %*s %*s %*s %lu", &inode) != 1)
            continue;
        int i = 0;
        while (i < count && inodes[i] != inode)
            i++;
        if (i == count && count < 1024)
            inodes[count++] = inode;
    }
    if (maps)
        fclose(maps);
    return count;
}

int main(int argc, char **argv)
{
    size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    pthread_t thread[1024];
    if (argc < 3 || threads > 1024 || pthread_barrier_init(&all, NULL, (unsigned)threads))
        return 2;
    for (size_t i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, holds, (void *)i))
            return 3;
    for (size_t i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    int found = shared_memories();
    printf("%d\n", found);
    return found != atoi(argv[2]);
}
