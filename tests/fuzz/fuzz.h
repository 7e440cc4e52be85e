/*
 * What every fuzzer needs: a check that sanitizers do not make, and inputs to begin with.
 *
 * A fuzzer is LLVMFuzzerTestOneInput and fuzz_seeds, which writes inputs into a folder; include
 * this in its one source file. With TIDEMARK_SEEDS set to a folder the program writes them and
 * ends.
 */
#ifndef TIDE_FUZZ_H
#define TIDE_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
void fuzz_seeds(const char *folder);

static inline void fuzz_must(bool holds)
{
    if (!holds)
        abort();
}

static inline void fuzz_save(const char *folder, const char *name, const void *bytes, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    fuzz_must(f && fwrite(bytes, 1, size, f) == size && fclose(f) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *folder = getenv("TIDEMARK_SEEDS");
    if (!folder)
        return 0;
    fuzz_seeds(folder);
    exit(0);
}

#endif
