/*
 * definition: what a function's name would have meant to its caller without us.
 *
 * dlsym knows, but only what is globally visible. A library loaded with RTLD_LOCAL, as Python loads
 * its modules, also sees what it was linked with. To find that, the loader would have to open the
 * library once more: it then allocates, waits for whoever is loading something (who may be waiting
 * for us), and loses the pending message of dlerror(). So the loaded files' own tables are read,
 * and the loader is asked only if several of them have the name and none came with the program.
 */
#ifndef TIDE_RECORD_DEFINITION_H
#define TIDE_RECORD_DEFINITION_H

#include <stdint.h>

/* Call it before the program loads anything itself. */
void definition_start(void);

/* NULL: there is none. `pc`: in the caller. */
void *definition_of(const char *name, uint64_t pc);

/* Call it before a library is unloaded: those in which definitions were found stay loaded. */
void definition_hold(void);

#endif
