/*
 * own_mappings: which mapped files of a recorded process are tidemark's own, judged by their names
 * in /proc/PID/maps.
 */
#ifndef TIDE_COLLECT_PROC_OWN_MAPPINGS_H
#define TIDE_COLLECT_PROC_OWN_MAPPINGS_H

#include <stdbool.h>
#include <string.h>

#include "base/path.h"
#include "wire/attach.h"

/* The recorder's library: a file that was preloaded, or the memory file that attach made. */
static inline bool is_own_library(const char *name)
{
    const char *file = path_base(name), *memory = "memfd:";
    if (strncmp(file, memory, strlen(memory)) == 0)
        file += strlen(memory);
    return strncmp(file, WIRE_ATTACH_NAME, strlen(WIRE_ATTACH_NAME)) == 0;
}

/* Memory that the process shares with the collector. */
static inline bool is_own_memory(const char *name)
{
    const char *memory = "/memfd:tidemark ";
    return strncmp(name, memory, strlen(memory)) == 0;
}

#endif
