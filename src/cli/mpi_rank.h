/*
 * mpi_rank: which process of a parallel job this one is, according to the environment that the
 * launcher sets. Open MPI, MPICH and its relatives (PMI), PMIx, MVAPICH, Slurm, Cray PALS and Flux
 * are supported. Nothing of MPI is called.
 */
#ifndef TIDE_CLI_MPI_RANK_H
#define TIDE_CLI_MPI_RANK_H

#include <stdbool.h>
#include <stdint.h>

struct rank {
    bool known;
    uint32_t rank;
    uint32_t ranks; /* in the job; 0: not known */
    uint32_t local; /* ranks of the job on this machine; 0: not known */
};

struct rank rank_of_environment(void);
/* A text that all ranks of this job on this machine share, and no other job has. The caller frees
 * it. */
char *rank_job(void);

#endif
