/*
 * unknown_client SOCKET KEY [GO]: asks the collector for rings as a process that it does not know, and
 * prints how many bytes it answers; with GO it connects, says "there", and asks when that file is
 * there. With "silent" for KEY: connects 20 times, says "there" and nothing to
 * the collector, and stays until its standard input ends.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/layout.h"

static int dial(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(name);
    memcpy(address.sun_path + 1, name, size);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (connect(fd, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)) != 0)
        _exit(9);
    return fd;
}

int main(int argc, char **argv)
{
    struct wire_request request = {
        .magic = WIRE_MAGIC, .version = WIRE_VERSION, .kind = WIRE_MORE_RINGS, .ring_count = 4};
    char c;

    if (argc < 3 || strlen(argv[1]) > 100)
        return 8;
    if (!strcmp(argv[2], "silent")) {
        for (int i = 0; i < 20; i++)
            dial(argv[1]);
        puts("there");
        fflush(stdout);
        return (int)read(0, &c, 1);
    }
    int fd = dial(argv[1]);
    if (argc > 3) {
        puts("there");
        fflush(stdout);
        while (access(argv[3], F_OK) != 0)
            usleep(1000);
    }
    memcpy(request.key, argv[2], WIRE_KEY_SIZE);
    send(fd, &request, sizeof request, MSG_NOSIGNAL);
    struct wire_reply reply;
    ssize_t n = recv(fd, &reply, sizeof reply, 0);
    printf("%zd\n", n > 0 ? n : 0);
    return 0;
}
