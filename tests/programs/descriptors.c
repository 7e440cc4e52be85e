/* descriptors FILE: writes into FILE which of the first 16 descriptors are open, and tries to write
 * to the three that everybody writes to. */
#include <fcntl.h>
#include <unistd.h>

#include "known.h"

int main(int argc, char **argv)
{
    char text[16];
    int out;

    known_sink = malloc(64);
    for (int fd = 0; fd < 16; fd++)
        text[fd] = fcntl(fd, F_GETFD) < 0 ? '-' : '+';
    for (int fd = 0; fd < 3; fd++)
        if (write(fd, "a stray line\n", 13) == 13 && text[fd] == '-')
            return 1;
    out = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    return write(out, text, sizeof text) != sizeof text;
}
