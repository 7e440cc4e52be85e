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

/* The name for a pattern; NULL and a sentence when the pattern is wrong. Caller frees. */
char *output_name(const char *pattern, const char *program, pid_t pid, struct err *err);
/* Not a command, nor a device such as /dev/null or /dev/stdout, which are written to just once. */
bool output_is_file(const char *name);
/* Could a file be made there? Asked before the program starts. Always yes for what is no file. */
int output_check(const char *name, struct err *err);
/* Writes the bytes to a file of that name, nowhere else; 0 or a negative errno. */
int output_write_file(const char *name, const struct strbuf *bytes);
/* Removes what a process that was killed meanwhile left of its output_write_file. */
void output_discard(const char *name, pid_t writer);
/* Writes the bytes; on failure tries the temporary directory and then *name says where it went,
 * NULL if nowhere. */
int output_write(char **name, const struct strbuf *bytes, struct err *err);

#endif
