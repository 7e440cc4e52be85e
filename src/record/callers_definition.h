/*
 * callers_definition: finds the function that a caller would have called if this library were not
 * loaded.
 *
 * dlsym finds it only if it is globally visible. A library loaded with RTLD_LOCAL, as Python loads
 * its modules, also sees what it was linked with. To find that with the loader's functions, we
 * would have to open the library once more. The loader would then allocate, wait for any thread
 * that is loading something (and may be waiting for us), and lose the pending message of dlerror().
 * So we read the tables of the loaded files ourselves, and ask the loader only if several files
 * define the name and none of them was loaded at the start.
 */
#ifndef TIDE_RECORD_CALLERS_DEFINITION_H
#define TIDE_RECORD_CALLERS_DEFINITION_H

#include <stdint.h>

/* Notes which files were loaded at the start. Call it before the program loads anything itself. */
void definition_start(void);

/* The function that the code at `pc` would call by this name; NULL: there is none. */
void *definition_of(const char *name, uint64_t pc);

/* Keeps libraries loaded in which definitions were found. Call it before a library is unloaded. */
void definition_hold(void);

#endif
