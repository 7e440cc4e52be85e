/*
 * definition: what a function's name would have meant to its caller without us.
 *
 * dlsym knows, but only of what everybody sees; a library loaded for itself alone (RTLD_LOCAL), as
 * Python loads its modules, sees what it was linked with, too. For that the loader would have to
 * open it once more: it then allocates, waits for whoever is loading one (who may be waiting for
 * us), and what dlerror() was to tell is lost. So the loaded files' own tables are read, and the
 * loader is asked only where several of them have the name and none came with the program.
 */
#ifndef TIDE_RECORD_DEFINITION_H
#define TIDE_RECORD_DEFINITION_H

#include <stdint.h>

/* Before the program loads anything itself. */
void definition_start(void);

/* NULL: there is none. `pc`: in the caller. */
void *definition_of(const char *name, uint64_t pc);

/* Before a library is unloaded: those in which definitions were found stay. */
void definition_hold(void);

#endif
