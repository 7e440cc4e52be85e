/* two_lines: loses 400,000 bytes twice in one line, and 600,000 once in another. */
#include <stdlib.h>
#include <string.h>

static char *volatile lost;

#define FILLED(size) memset(malloc(size), 1, size)

/* clang-format off */
__attribute__((noinline)) static void lose(void)
{
    lost = FILLED(600000);
    lost = FILLED(400000), lost = FILLED(400000); /* most */
    lost = NULL;
}
/* clang-format on */

int main(void)
{
    lose();
    return lost != NULL;
}
