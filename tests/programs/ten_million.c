/* 10,000,000 blocks of 24 bytes, a list that begins in a variable. */
#include "known.h"

static void **list;

int main(void)
{
    for (int i = 0; i < 10000000; i++) {
        void **block = malloc(24);

        *block = list;
        list = block;
    }
    return 0;
}
