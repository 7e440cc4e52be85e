/*
 * A job of ten events that marks the end of each. Each keeps 1,000 bytes and uses 5,000 meanwhile.
 *
 *     cc -I include examples/marks.c -o marks
 *     tidemark run -o marks.tide ./marks
 *     tidemark marks marks.tide
 *     tidemark report marks.tide --since event#5 --at event#6
 */
#include <stdlib.h>
#include <string.h>

#include "tidemark.h"

static char *results[10];

static void process(int number)
{
    char *scratch = malloc(5000);
    memset(scratch, number, 5000);
    results[number - 1] = malloc(1000);
    memcpy(results[number - 1], scratch, 1000);
    free(scratch);
    tide_mark_value("event", "number", number);
}

int main(void)
{
    tide_thread_name("events");
    for (int i = 1; i <= 10; i++)
        process(i);

    tide_pause();
    char *table = malloc(1000000); /* not in the recording */
    tide_resume();
    table[0] = results[9][0];

    tide_mark("all done");
    free(table);
    for (int i = 0; i < 10; i++)
        free(results[i]);
    tide_mark("all freed");
    return 0;
}
