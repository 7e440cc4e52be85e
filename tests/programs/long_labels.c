/*
 * long_labels: a block and a mark for each label that is longer than is kept, of one byte and of two
 * bytes per character; then a label with a line break.
 */
#include <string.h>

#include "known.h"
#include "tidemark.h"

SITE static void block(void)
{
    known_sink = malloc(10);
}

int main(void)
{
    char label[201] = "";
    block();
    memset(label, 'x', 200);
    tide_mark(label);
    block();
    label[0] = '\0';
    for (int i = 0; i < 100; i++)
        strcat(label, "\xc3\xbc");
    tide_mark(label);
    block();
    tide_mark("two\nlines");
    return 0;
}
