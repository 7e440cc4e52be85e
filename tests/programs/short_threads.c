/* short_threads COUNT: that many threads one after another; each allocates three blocks and frees
 * two. */
#include "known.h"

SITE static void *shortly(void *unused)
{
    void *a = malloc(100), *b = malloc(200), *c = malloc(300);

    known_sink = a;
    known_sink = b;
    known_sink = c;
    free(a);
    free(b);
    return unused;
}

int main(int argc, char **argv)
{
    int count = known_argument(argc, argv, 1, 20000);

    for (int i = 0; i < count; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, shortly, NULL))
            return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
