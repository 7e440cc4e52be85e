/*
 * push_target: parses the server and the series that a profile is pushed to. Errors are -EINVAL and
 * a sentence without secrets: wrong usage.
 *
 * Ownership: push_target_release frees.
 */
#ifndef TIDE_CLI_PUSH_TARGET_H
#define TIDE_CLI_PUSH_TARGET_H

#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

struct push_target {
    char *url;             /* without user and password, so it may be shown */
    char *user, *password; /* NULL: none */
};

/* Parses http[s]://[USER[:PASSWORD]@]HOST[:PORT][/PATH], the value of `option`, which messages
 * name. Overwrites user and password in `text`, which is one of our arguments: other users can see
 * those. */
int push_target_parse(struct push_target *t, const char *option, char *text, struct err *err);
void push_target_release(struct push_target *t);

/* Is this KEY=VALUE, a label that Pyroscope accepts? */
int push_label_check(const char *text, struct err *err);
/* The same for the name of an application. */
int push_name_check(const char *text, struct err *err);
/* Makes a permitted name from any text; the caller frees it. */
char *push_name_of(const char *text);

/* Appends `text` as a value in a URL. */
void push_escape(struct strbuf *out, const char *text);

#endif
