/*
 * getenv, for one variable: a Python that is recorded finds the module `tidemark` after what is in
 * its PYTHONPATH. The environment itself is not changed, so neither the program nor what it
 * executes sees a difference there; with -E and -I an interpreter does not ask.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/recorder.h"

#define VARIABLE "PYTHONPATH"
#define MODULE   "/tidemark/__init__.py"

/* Beside the installed library, and in the source tree that it was built in. */
static const char *const folders[] = {"/python", "/../bindings/python"};

enum { NOT_MADE, BEING_MADE, MADE };
static struct {
    _Atomic int state;
    size_t theirs;   /* bytes of what was there, with its colon */
    char path[8192]; /* the answer; empty: the module was not found */
} answer;

/* Not available until the loader has initialised us. */
extern char **environ __attribute__((weak));

/* Used before the recorder has found the next function. A function that chooses an implementation
 * for the loader (IFUNC) may ask even before we can call anything; then libc has no environment
 * either. */
static char *scan(const char *name)
{
    if (!&environ || !environ)
        return NULL;
    size_t size = strlen(name);
    for (char **e = environ; *e; e++)
        if (strncmp(*e, name, size) == 0 && (*e)[size] == '=')
            return *e + size + 1;
    return NULL;
}

static void make_answer(const char *value)
{
    const char *library = exec_library();
    const char *slash = library ? strrchr(library, '/') : NULL;
    size_t size = slash ? (size_t)(slash - library) : 0, theirs = strlen(value);
    if (!slash || theirs + size + 64 > sizeof answer.path)
        return;
    char *at = answer.path + theirs + (theirs > 0);
    memcpy(at, library, size);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        strcpy(at + size, folders[i]);
        size_t end = size + strlen(folders[i]);
        strcpy(at + end, MODULE);
        long found = sys_call(SYS_faccessat, (long)AT_FDCWD, at, (long)R_OK);
        at[end] = '\0';
        if (found != 0)
            continue;
        if (theirs) {
            memcpy(answer.path, value, theirs);
            answer.path[theirs] = ':';
        }
        answer.theirs = theirs + (theirs > 0);
        return;
    }
    answer.path[0] = '\0';
}

/* Python 2 and the first releases of 3 cannot parse the module. A program that tries to import it,
 * and goes on without it, does so with them too. */
static bool too_old(void)
{
    uint32_t version = atomic_load(&recorder.header->python_version); /* 0: unknown */
    return version && version < 0x03060000;
}

/* The answer is made once and stays, because callers may keep it: there is no second one for
 * another value. */
static char *with_module(char *value)
{
    int state = NOT_MADE;
    const char *theirs = value ? value : "";
    size_t size = strlen(theirs);
    if (atomic_compare_exchange_strong(&answer.state, &state, BEING_MADE)) {
        make_answer(theirs);
        atomic_store(&answer.state, state = MADE);
    }
    bool same = state == MADE && answer.path[0] && answer.theirs == size + (size > 0) &&
                memcmp(answer.path, theirs, size) == 0;
    return same ? answer.path : value;
}

EXPORT char *getenv(const char *name)
{
    char *value = next.getenv ? next.getenv(name) : scan(name);
    if (UNLIKELY(name[0] == 'P') && atomic_load(&recorder.state) == STATE_LIVE &&
        strcmp(name, VARIABLE) == 0 && !too_old())
        return with_module(value);
    return value;
}
