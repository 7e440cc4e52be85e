/* sawteeth TEETH [SPIKE [OTHER]]: one thread; tooth n rises to n * 100 KiB, by blocks of 10 KiB, and
 * falls to nothing. Marks at each top and foot, so that intervals end there; between them, SPIKE bytes
 * more are live for a moment, and then twice OTHER bytes, each allocated elsewhere. */
#include <stdlib.h>

#include "known.h"
#include "tidemark.h"

static void *blocks[1000];

SITE static void pile(int count)
{
    for (int i = 0; i < count; i++)
        blocks[i] = malloc(10240);
}

SITE static void spike_of(int bytes)
{
    void *volatile more = malloc((size_t)bytes);
    free(more);
}

SITE static void others_of(int bytes)
{
    void *volatile one = malloc((size_t)bytes);
    free(one);
    void *volatile another = malloc((size_t)bytes);
    free(another);
}

int main(int argc, char **argv)
{
    int teeth = known_argument(argc, argv, 1, 3), spike = known_argument(argc, argv, 2, 0);
    int other = known_argument(argc, argv, 3, 0);
    void *volatile little = malloc(1); /* what is below the teeth, elsewhere */
    for (int n = 1; n <= teeth; n++) {
        pile(10 * n);
        tide_mark("top");
        if (spike)
            spike_of(spike);
        if (other)
            others_of(other);
        for (int i = 0; i < 10 * n; i++)
            free(blocks[i]);
        tide_mark("foot");
    }
    free(little);
    return 0;
}
