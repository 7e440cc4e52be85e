/*
 * amount: sizes as people write them: 4096, 64K, 10MiB, 1.5 GB.
 */
#ifndef TIDE_BASE_AMOUNT_H
#define TIDE_BASE_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* K, KiB, M, MiB, ... are powers of 1,024; kB, MB, ... of 1,000. false: something else. */
bool amount_parse(const char *text, int64_t *bytes);

#endif
