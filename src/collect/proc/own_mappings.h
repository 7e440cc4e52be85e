/*
 * own_mappings: which mapped files of a recorded process are tidemark's own, judged by their names
 * in /proc/PID/maps.
 */
#ifndef TIDE_COLLECT_PROC_OWN_MAPPINGS_H
#define TIDE_COLLECT_PROC_OWN_MAPPINGS_H

#include <stdbool.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "wire/attach.h"

/* The recorder's library: a file that was preloaded, or the memory file that attach made. */
static inline bool is_own_library(const char *name)
{
    const char *file = path_base(name), *memory = "memfd:";
    return text_begins(text_begins(file, memory) ? file + strlen(memory) : file, WIRE_ATTACH_NAME);
}

/* Memory that the process shares with the collector. */
static inline bool is_own_memory(const char *name)
{
    return text_begins(name, "/memfd:tidemark ");
}

#endif
