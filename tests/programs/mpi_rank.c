/*
 * mpi_rank: a rank of an MPI job that keeps (rank + 1) * 10 blocks of 512 bytes (fill). With KILL=R,
 * rank R kills itself; with KILL_COLLECTOR=R it kills the process that records it. Ranks wait for
 * each other with MPI's barrier before that.
 */
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include "known.h"

static void *volatile kept[10000];

SITE static void fill(int count)
{
    for (int i = 0; i < count; i++)
        kept[i] = malloc(512);
}

static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

int main(int argc, char **argv)
{
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fill((rank + 1) * 10);
    MPI_Barrier(MPI_COMM_WORLD);
    if (number("KILL") == rank)
        raise(SIGKILL);
    if (number("KILL_COLLECTOR") == rank)
        kill(getppid(), SIGKILL);
    if (number("KILL") < 0 && number("KILL_COLLECTOR") < 0)
        MPI_Finalize();
    return 0;
}
