/* Marks with time between them: what the collector looks at after a mark is in the middle of it. */
#include <string.h>
#include <time.h>

#include "known.h"
#include "tidemark.h"

int main(void)
{
    const struct timespec gap = {0, 15000000};
    for (int i = 0; i < 20; i++) {
        char *p = malloc(200000);
        memset(p, 1, 200000);
        known_sink = p;
        tide_mark("event");
        nanosleep(&gap, NULL);
    }
    return 0;
}
