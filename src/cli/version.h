/*
 * version: which tidemark this is, and what it was built with.
 */
#ifndef TIDE_CLI_VERSION_H
#define TIDE_CLI_VERSION_H

/* Prints the answer of `tidemark --version`. Its first line is "tidemark VERSION". */
void version_print(void);

#endif
