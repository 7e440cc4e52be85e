/*
 * A plugin that calls the malloc of others: plugin_work has 7 blocks of 1,000 bytes and frees them.
 */
#include <stdlib.h>

void plugin_work(void);

void plugin_work(void)
{
    for (int i = 0; i < 7; i++) {
        void *volatile p = malloc(1000);
        free(p);
    }
}
