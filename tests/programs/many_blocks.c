/* Many blocks of 32 bytes: many_blocks array|list|lost COUNT. The list goes through memory at
 * random. */
#include <stdint.h>
#include <string.h>

#include "known.h"

static void *volatile kept;

SITE static void *block(void)
{
    return calloc(1, 32);
}

static void shuffle(void **all, size_t count)
{
    uint64_t state = 88172645463325252u;
    for (size_t i = count - 1; i > 0; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        void *other = all[state % (i + 1)];
        all[state % (i + 1)] = all[i];
        all[i] = other;
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "array";
    size_t count = (size_t)known_argument(argc, argv, 2, 1000);
    void **all = malloc(count * sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = block();
    if (strcmp(mode, "array") == 0) {
        kept = all;
        return 0;
    }
    shuffle(all, count);
    for (size_t i = 0; strcmp(mode, "list") == 0 && i + 1 < count; i++)
        *(void **)all[i] = all[i + 1];
    kept = strcmp(mode, "list") == 0 ? all[0] : NULL;
    memset(all, 0, count * sizeof *all);
    free(all);
    return 0;
}
