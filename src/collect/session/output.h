/*
 * output: where a recording goes: a file by a name pattern, or a command's standard input.
 *
 *   %n program    %h host                            %q{VAR} environment variable
 *   %p pid        %t start time, YYYYmmdd-HHMMSS     %%      a percent sign
 *
 * The file is written under another name beside it and then renamed, so a failed write never
 * destroys an older file. Only its owner can read it. Links and files that another user may have
 * put there are neither followed nor overwritten.
 */
#ifndef TIDE_COLLECT_SESSION_OUTPUT_H
#define TIDE_COLLECT_SESSION_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strbuf.h"

/* The name for a pattern; NULL and a sentence if the pattern is wrong. The caller frees it. */
char *output_name(const char *pattern, const char *program, pid_t pid, struct err *err);
/* Is it a file? Commands and devices such as /dev/null or /dev/stdout are not: they are written to
 * only once. */
bool output_is_file(const char *name);
/* Could a file be created there? Called before the program starts. Always 0 for what is no file. */
int output_check(const char *name, struct err *err);
/* Writes the bytes to a file of that name, and nowhere else. Returns 0, or a negative errno. */
int output_write_file(const char *name, const struct strbuf *bytes);
/* Removes what a killed process left of its output_write_file. */
void output_discard(const char *name, pid_t writer);
/* Writes the bytes. If that fails, tries the temporary directory; *name then says where the file
 * is, or is NULL. */
int output_write(char **name, const struct strbuf *bytes, struct err *err);

#endif
