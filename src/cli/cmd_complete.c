/*
 * tidemark __complete WORD...: completes a command line. The words are those after `tidemark`, the
 * last one as far as it is typed. Prints what could be in its place:
 *
 *   words | files | program N  what to complete: the lines below; names of files; or the command
 *                              line of another program, which begins at the N-th word
 *   CANDIDATE<tab>DESCRIPTION  one line each
 *
 * Everything about commands and options is taken from what `--help` prints: there is no second
 * table. Only the words of values come from elsewhere: metrics from the model; labels, threads,
 * processes and functions from the recording that the command line names.
 */
#include "cli/commands.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/mappings.h"
#include "model/query.h"
#include "store/reader.h"

/* Limit of a recording that is read while the user waits. */
#define MOST_BYTES (UINT64_C(256) << 20)

struct line {
    char **words; /* those after `tidemark` */
    size_t count; /* the last one is to be completed */
    const char *partial;
    const char *before; /* printed before each candidate: the option in --option=VALUE */
    size_t before_size;
    bool heading_printed; /* `words` has been printed */
    struct strpool seen;
};

/* --- printing --------------------------------------------------------------------------------- */

static void offer_n(struct line *l, const char *word, size_t size, const char *text)
{
    size_t typed = strlen(l->partial);
    if (size < typed || strncmp(word, l->partial, typed) != 0 || memchr(word, '\n', size))
        return;
    if (!l->heading_printed)
        puts("words");
    l->heading_printed = true;
    uint32_t before = (uint32_t)l->seen.strings.count;
    if (strpool_add_n(&l->seen, word, size) < before) /* print it once */
        return;
    printf("%.*s%.*s%s%s\n", (int)l->before_size, l->before, (int)size, word, *text ? "\t" : "",
           text);
}

static void offer(struct line *l, const char *word, const char *text)
{
    offer_n(l, word, strlen(word), text);
}

/* --- --help ----------------------------------------------------------------------------------- */

/* What `tidemark COMMAND --help` prints, without the examples; NULL: no such command. The caller
 * frees it. */
static char *help_of(const char *command)
{
    int ends[2];
    struct strbuf text = {0};
    char part[4096];
    ssize_t n;
    int status = 1;
    if (pipe(ends))
        return NULL;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(STDERR_FILENO); /* `tidemark` opens /dev/null there */
        close(ends[0]);
        close(ends[1]);
        if (*command)
            execl("/proc/self/exe", "tidemark", command, "--help", (char *)NULL);
        else
            execl("/proc/self/exe", "tidemark", "--help", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while ((n = read(ends[0], part, sizeof part)) > 0)
        strbuf_add(&text, part, (size_t)n);
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0 || !text.size) {
        strbuf_release(&text);
        return NULL;
    }
    char *all = strbuf_detach(&text), *examples = strstr(all, "\nExamples:");
    if (examples)
        examples[1] = '\0';
    return all;
}

static size_t option_size(const char *at)
{
    size_t n = strspn(at, "-");
    if (n < 1 || n > 2 || !islower((unsigned char)at[n]))
        return 0;
    return n + strspn(at + n, "abcdefghijklmnopqrstuvwxyz-");
}

/* The next option in the text, from `at` on; NULL: none. */
static const char *next_option(const char *text, const char *at, size_t *size)
{
    for (; *at; at++) {
        bool inside = at > text && (isalnum((unsigned char)at[-1]) || strchr("-'_", at[-1]));
        if (*at == '-' && !inside && (*size = option_size(at)))
            return at;
    }
    return NULL;
}

/* The description in the option's line; "" if the line begins with another option. */
static char *description(const char *text, const char *option)
{
    const char *line = option;
    while (line > text && line[-1] != '\n')
        line--;
    const char *end = option + strcspn(option, "\n");
    if (line[strspn(line, " ")] != '-')
        return xstrdup("");
    for (const char *gap = option; gap < end; gap++)
        if (gap[0] == ' ' && gap[1] == ' ') {
            gap += strspn(gap, " ");
            return xstrndup(gap, (size_t)(end - gap));
        }
    /* It is in the next line. */
    if (*end && end[1] == ' ' && end[1 + strspn(end + 1, " ")] != '-') {
        const char *next = end + 1 + strspn(end + 1, " ");
        return xstrndup(next, strcspn(next, "\n"));
    }
    return xstrdup("");
}

static void offer_options(struct line *l, const char *help)
{
    size_t size;
    for (const char *at = help; (at = next_option(help, at, &size)); at += size) {
        char *text = description(help, at);
        if (at[1] == '-') /* few have short forms, and those need no completion */
            offer_n(l, at, size, text);
        free(text);
    }
}

/* Offers the commands of `tidemark --help`, or the actions of a command: lines with a word and a
 * gap. */
static void offer_listed(struct line *l, const char *help)
{
    for (const char *line = help; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *word = line + 2;
        if (!text_begins(line, "  ") || !islower((unsigned char)*word))
            continue;
        size_t size = strspn(word, "abcdefghijklmnopqrstuvwxyz");
        const char *end = word + strcspn(word, "\n");
        const char *gap = strstr(word + size, "  ");
        if (word[size] != ' ' || !gap || gap > end)
            continue;
        gap += strspn(gap, " ");
        char *text = xstrndup(gap, (size_t)(end - gap));
        offer_n(l, word, size, text);
        free(text);
    }
}

/* How the help shows the value of an option: "FILE", "wait|drop"; NULL: it takes none, or only in
 * the same word (*optional). */
static char *value_of(const char *help, const char *option, size_t option_bytes, bool *optional)
{
    size_t size;
    *optional = false;
    for (const char *at = help; (at = next_option(help, at, &size)); at += size) {
        if (size != option_bytes || strncmp(at, option, size) != 0)
            continue;
        const char *value = at + size;
        if (text_begins(value, "[=")) {
            *optional = true;
            return xstrndup(value + 2, strcspn(value + 2, "]\n"));
        }
        if (*value == '=' ||
            (*value == ' ' && (isupper((unsigned char)value[1]) || text_begins(value, " s/"))))
            return xstrndup(value + 1, strcspn(value + 1, " ,\n"));
    }
    return NULL;
}

/* --- values ----------------------------------------------------------------------------------- */

static void offer_alternatives(struct line *l, const char *value)
{
    for (const char *at = value; strchr(value, '|') && *at;
         at += strcspn(at, "|"), at += *at == '|')
        if (islower((unsigned char)*at))
            offer_n(l, at, strcspn(at, "|"), "");
}

static void offer_list(struct line *l, const char *words)
{
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        offer_n(l, at, strcspn(at, " "), "");
}

/* The recording that the command line names: the first word that is a file. Without `content`, only
 * the identities of its processes are read. */
static struct recording *read_recording(const struct line *l, bool content)
{
    struct reader_choice choice = {content ? READER_ALL : READER_NONE, MOST_BYTES};
    struct recording *r = NULL;
    struct stat s;
    for (size_t i = 1; i + 1 < l->count && !r; i++)
        if (l->words[i][0] != '-' && stat(l->words[i], &s) == 0 && S_ISREG(s.st_mode))
            recording_read_some(l->words[i], &choice, &r, NULL);
    return r;
}

static void offer_labels(struct line *l, bool numbered)
{
    struct recording *r = read_recording(l, true);
    for (size_t i = 0; r && i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        struct strpool labels = {0};
        VEC(size_t) numbers = {0}; /* index of the last mark of each label */
        for (size_t m = 0; m < p->marks.count; m++) {
            const char *name = p->marks.items[m].name;
            offer(l, name, "mark");
            uint32_t label = strpool_add(&labels, name);
            while (numbers.count <= label)
                *vec_push(&numbers) = 0;
            size_t number = ++numbers.items[label];
            if (!numbered || !strchr(l->partial, '#'))
                continue;
            char *word = xasprintf("%s#%zu", name, number);
            offer(l, word, "mark");
            free(word);
        }
        strpool_release(&labels);
        vec_release(&numbers);
    }
    recording_free(r);
}

static void offer_processes(struct line *l)
{
    struct recording *r = read_recording(l, false);
    for (size_t i = 0; r && i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        char pid[16];
        snprintf(pid, sizeof pid, "%u", p->pid);
        offer(l, pid, p->command.count ? p->command.items[0] : "");
    }
    if (r)
        offer(l, "all", "all processes as one");
    recording_free(r);
}

static void offer_threads(struct line *l)
{
    struct recording *r = read_recording(l, true);
    for (size_t i = 0; r && i < r->profiles.count; i++)
        for (size_t t = 0; t < r->profiles.items[i].threads.count; t++)
            offer(l, r->profiles.items[i].threads.items[t].name, "thread");
    recording_free(r);
}

/* Offers functions without their arguments, which reports do not need. */
static void offer_functions(struct line *l)
{
    struct recording *r = read_recording(l, true);
    for (size_t i = 0; r && i < r->profiles.count; i++) {
        const struct profile *p = &r->profiles.items[i];
        for (size_t f = 0; f < p->frames.count; f++) {
            const char *name = strpool_get(&r->strings, p->frames.items[f].function);
            size_t size = strcspn(name, "(");
            if (size && size == strcspn(name, "( [<+"))
                offer_n(l, name, size, "");
        }
    }
    recording_free(r);
}

/* true: all candidates were offered; false: it may be a file. */
static bool offer_value(struct line *l, const char *option, const char *value)
{
    static const struct {
        const char *option, *words;
    } known[] = {{"scan", "auto full off"},
                 {"kind", "lost indirect reachable unclassified"},
                 {"order", "time size"},
                 {"colors", "heap cpu faults mapped diff"}};
    const char *const moments = "start exit end peak";
    if (strcmp(option, "metric") == 0) {
        for (int m = 0; m < METRICS; m++)
            offer(l, metric_name((enum metric)m), "");
    } else if (strcmp(option, "by") == 0 && strcmp(l->words[0], "maps") == 0) {
        for (int g = 0; g < MAPPING_GROUPINGS; g++)
            offer(l, mapping_grouping_name((enum mapping_grouping)g), "");
    } else if (strcmp(option, "by") == 0) {
        for (int g = 0; g < GROUPINGS; g++)
            offer(l, grouping_name((enum grouping)g), "");
    } else if (strcmp(option, "size") == 0) {
        for (int s = 0; s < SIZE_KINDS; s++)
            offer(l, size_kind_name((enum size_kind)s), "");
    } else if (strcmp(option, "histogram") == 0) {
        for (int h = HISTOGRAM_NONE + 1; h < HISTOGRAM_KINDS; h++)
            offer(l, histogram_kind_name((enum histogram_kind)h), "");
    } else if (strcmp(option, "at") == 0 || strcmp(option, "since") == 0) {
        offer_list(l, moments);
        offer_labels(l, true);
    } else if (strcmp(option, "mark") == 0 || strcmp(option, "label") == 0) {
        offer_labels(l, false);
    } else if (strcmp(option, "callers") == 0 || strcmp(option, "callees") == 0) {
        offer_functions(l);
    } else if (strcmp(option, "thread") == 0) {
        offer_threads(l);
    } else if (strcmp(option, "process") == 0) {
        offer_processes(l);
    } else {
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strcmp(option, known[i].option) == 0)
                offer_list(l, known[i].words);
        offer_alternatives(l, value);
        return l->heading_printed || strstr(value, "FILE") == NULL;
    }
    return true;
}

/* --- the command line ------------------------------------------------------------------------- */

/* Some commands say "as in tidemark report" in their help. */
static char *value_in(const char *help, const char *option, size_t size, bool *optional)
{
    char *value = value_of(help, option, size, optional), *report = NULL;
    if (!value && (report = help_of("report")))
        value = value_of(report, option, size, optional);
    free(report);
    return value;
}

/* The usage line's name for the n-th word that is no option, counted from 0: "FILE", "PROGRAM". */
static char *argument_name(const char *help, const char *command, size_t n)
{
    const char *end = help + strcspn(help, "\n"), *at = strstr(help, command);
    if (!at || at > end)
        return NULL;
    for (at += strlen(command); at < end;) {
        at += strspn(at, " ");
        size_t size = strcspn(at, " \n");
        if (isupper((unsigned char)*at) && n-- == 0)
            return xstrndup(at, size);
        at += size ? size : 1;
    }
    return NULL;
}

static void complete_argument(struct line *l, const char *help, size_t n)
{
    char *name = argument_name(help, l->words[0], n);
    if (name && strcmp(name, "FUNCTION") == 0)
        offer_functions(l);
    else if (name && strcmp(name, "ACTION") == 0)
        offer_listed(l, help);
    else if (name && text_begins(name, "FILE"))
        puts("files");
    free(name);
}

/* Goes through the words before the last one, which decide what the last one can be. */
static void complete(struct line *l, const char *help)
{
    size_t arguments = 0;
    const char *option = NULL; /* the word before, if it is an option that needs a value */
    char *value = NULL, *first = argument_name(help, l->words[0], 0);
    bool program = first && strcmp(first, "PROGRAM") == 0, ended = false, optional;
    free(first);
    for (size_t i = 1; i < l->count; i++) {
        const char *word = l->words[i];
        bool last = i + 1 == l->count;
        if (option && last) {
            if (!offer_value(l, option + strspn(option, "-"), value))
                puts("files");
        } else if (!option && program && (ended || (word[0] != '-'))) {
            printf("program %zu\n", i);
            return;
        } else if (!option && last && word[0] == '-' && !ended) {
            const char *equals = strchr(word, '=');
            size_t size = equals ? (size_t)(equals - word) : 0;
            if (!equals) {
                offer_options(l, help);
            } else if ((value = value_in(help, word, size, &optional))) {
                char *name = xstrndup(word + 2, size > 2 ? size - 2 : 0);
                l->before = word;
                l->before_size = size + 1;
                l->partial = equals + 1;
                if (!offer_value(l, name, value))
                    puts("files");
                free(name);
            }
        } else if (!option && last) {
            complete_argument(l, help, arguments);
        }
        free(value);
        value = NULL;
        if (option) {
            option = NULL;
        } else if (strcmp(word, "--") == 0) {
            ended = true;
        } else if (word[0] == '-' && !ended) {
            value = strchr(word, '=') ? NULL : value_in(help, word, strlen(word), &optional);
            option = value && !optional ? word : NULL;
        } else {
            arguments++;
        }
    }
    free(value);
}

int cmd_complete(int argc, char **argv)
{
    struct line l = {.words = argv + 1, .count = (size_t)argc - 1, .before = ""};
    if (argc < 2)
        return 2;
    l.partial = argv[argc - 1];
    strpool_add(&l.seen, ""); /* number 0 */
    char *help = help_of(l.count == 1 ? "" : l.words[0]);
    if (help && l.count == 1) {
        offer_listed(&l, help);
        offer(&l, "--help", "what the commands are");
        offer(&l, "--version", "which version this is");
    } else if (help) {
        complete(&l, help);
    }
    free(help);
    strpool_release(&l.seen);
    return 0;
}
