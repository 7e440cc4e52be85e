/*
 * tidemark-mpi-merge OUT [IN...]: the processes of an MPI job merge recordings into one.
 *
 * With files, each process merges its share of them; all processes must see the files. Without
 * files, the first process of each machine takes the file that `tidemark run --merge OUT` left on
 * it. Then pairs of processes merge what they have, in as many rounds as the number of processes
 * has bits. A merge is associative, so the result is that of `tidemark merge` on all of them. A
 * process without a recording takes part with nothing.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run_merge.h"
#include "collect/session/output.h"
#include "model/merge.h"
#include "store/merge.h"
#include "store/reader.h"
#include "store/writer.h"

#define MESSAGE_MOST (1 << 30) /* bytes: counts of MPI are ints */

static int rank, ranks;

static void tell(const char *text)
{
    fprintf(stderr, "tidemark-mpi-merge: %s\n", text);
}

/* Merges the files of this process into the bytes of one file; empty: nothing. */
static void merge_files_of_rank(char **files, int count, struct strbuf *out, int *failed)
{
    struct merging *m = merging_new();
    for (int i = 0; i < count; i++) {
        struct recording *r = NULL;
        struct err err = {{0}};
        int code = recording_read(files[i], &r, &err);
        if (!code)
            code = merging_add(m, r, files[i], &err);
        if (code) {
            tell(err.text);
            ++*failed;
        }
        recording_free(r);
    }
    struct recording *r = merging_finish(m);
    if (r)
        recording_write(out, r);
    recording_free(r);
    merging_free(m);
}

static void merge_bytes(struct strbuf *own, const struct strbuf *other, int *failed)
{
    const struct strbuf *both[] = {own, other};
    struct merging *m = merging_new();
    for (int i = 0; i < 2; i++) {
        struct recording *r = NULL;
        struct err err = {{0}};
        if (!both[i]->size)
            continue;
        int code = recording_parse(both[i]->data, both[i]->size, "a part of the job", &r, &err);
        if (!code)
            code = merging_add(m, r, "a part of the job", &err);
        if (code) {
            tell(err.text);
            ++*failed;
        }
        recording_free(r);
    }
    struct recording *r = merging_finish(m);
    strbuf_clear(own);
    if (r)
        recording_write(own, r);
    recording_free(r);
    merging_free(m);
}

static void send_bytes(const struct strbuf *bytes, int to)
{
    unsigned long long size = bytes->size;
    MPI_Send(&size, 1, MPI_UNSIGNED_LONG_LONG, to, 0, MPI_COMM_WORLD);
    for (size_t at = 0; at < bytes->size; at += MESSAGE_MOST) {
        size_t left = bytes->size - at;
        MPI_Send(bytes->data + at, (int)(left < MESSAGE_MOST ? left : MESSAGE_MOST), MPI_BYTE, to,
                 1, MPI_COMM_WORLD);
    }
}

static void receive_bytes(struct strbuf *bytes, int from)
{
    unsigned long long size = 0;
    MPI_Recv(&size, 1, MPI_UNSIGNED_LONG_LONG, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    strbuf_clear(bytes);
    strbuf_reserve(bytes, size + 1);
    for (size_t at = 0; at < size; at += MESSAGE_MOST) {
        size_t left = size - at;
        MPI_Recv(bytes->data + at, (int)(left < MESSAGE_MOST ? left : MESSAGE_MOST), MPI_BYTE, from,
                 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    bytes->size = size;
}

/* The reduction tree: in round n, a process whose lowest set bit is the n-th passes on what it
 * has. */
static void reduce(struct strbuf *own, int *failed)
{
    struct strbuf other = {0};
    for (int step = 1; step < ranks; step <<= 1) {
        if (rank & step) {
            send_bytes(own, rank - step);
            break;
        }
        if (rank + step >= ranks)
            continue;
        receive_bytes(&other, rank + step);
        merge_bytes(own, &other, failed);
    }
    strbuf_release(&other);
}

/* The file into which the ranks of this machine were merged, for one process of the machine. */
static char *file_of_machine(const char *out)
{
    MPI_Comm machine;
    int local = 0;
    char host[256] = "";
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &local);
    MPI_Comm_free(&machine);
    gethostname(host, sizeof host - 1);
    char *file = run_merge_file_of(out, host);
    if (local == 0 && access(file, R_OK) == 0)
        return file;
    free(file);
    return NULL;
}

static int write_result(const char *out, const struct strbuf *bytes)
{
    if (!bytes->size) {
        tell("there is nothing to merge: no file could be read");
        return 1;
    }
    int code = output_write_file(out, bytes);
    if (code) {
        fprintf(stderr, "tidemark-mpi-merge: cannot write %s: %s\n", out, strerror(-code));
        return 1;
    }
    fprintf(stderr, "tidemark-mpi-merge: written to %s; next: tidemark report %s\n", out, out);
    return 0;
}

static int usage(bool asked)
{
    if (rank == 0)
        fputs(
            "usage: mpirun [-n N] tidemark-mpi-merge OUT [IN...]\n"
            "\n"
            "Merges recordings into OUT, as 'tidemark merge' does, by the processes of an MPI "
            "job.\n"
            "IN are files that all processes see: each takes its share. Without IN, each machine\n"
            "contributes the file that 'tidemark run --merge OUT' left on it; run one process on\n"
            "each machine then: mpirun --map-by ppr:1:node tidemark-mpi-merge job.tide\n",
            asked ? stdout : stderr);
    return asked ? 0 : 2;
}

static int run(int argc, char **argv)
{
    bool help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (help || argc < 2 || argv[1][0] == '-')
        return usage(help);
    struct strbuf own = {0};
    int failed = 0, any = 0, status = 0;
    char **files = xcalloc((size_t)argc + 1, sizeof *files), *machine = NULL;
    int count = 0;
    for (int i = 2; i < argc; i++)
        if ((i - 2) % ranks == rank)
            files[count++] = argv[i];
    if (argc == 2 && (machine = file_of_machine(argv[1])))
        files[count++] = machine;
    if (count)
        merge_files_of_rank(files, count, &own, &failed);
    reduce(&own, &failed);
    if (rank == 0)
        status = write_result(argv[1], &own);
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    free(machine);
    free(files);
    strbuf_release(&own);
    return any ? 1 : status;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int status = run(argc, argv);
    MPI_Finalize();
    return status;
}
