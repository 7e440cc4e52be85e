/* library: where libtidemark.so is. */
#ifndef TIDE_CLI_LIBRARY_H
#define TIDE_CLI_LIBRARY_H

/* Beside the program when run from a build, else where installation puts it, seen from the program;
 * NULL: neither can be read. Caller frees. */
char *library_find(void);

#endif
