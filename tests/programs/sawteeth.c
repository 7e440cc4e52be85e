/* sawteeth TEETH [SPIKE]: one thread; tooth n rises to n * 100 KiB, by blocks of 10 KiB, and falls
 * to nothing. Marks at each top and foot, so that intervals end there; SPIKE bytes more are live
 * for a moment between them. */
#include <stdlib.h>

#include "known.h"
#include "tidemark.h"

static void *blocks[1000];

SITE static void pile(int count)
{
    for (int i = 0; i < count; i++)
        blocks[i] = malloc(10240);
}

int main(int argc, char **argv)
{
    int teeth = known_argument(argc, argv, 1, 3), spike = known_argument(argc, argv, 2, 0);
    void *volatile little = malloc(1); /* what is below the teeth, elsewhere */
    for (int n = 1; n <= teeth; n++) {
        pile(10 * n);
        tide_mark("top");
        if (spike) {
            void *volatile more = malloc((size_t)spike);
            free(more);
        }
        for (int i = 0; i < 10 * n; i++)
            free(blocks[i]);
        tide_mark("foot");
    }
    free(little);
    return 0;
}
