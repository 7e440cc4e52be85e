/* tidemark view FILE [OTHER], tidemark view PID: a page with the answers of all commands. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/page_commands.h"
#include "cli/picture.h"
#include "cli/options.h"
#include "cli/live_recording.h"
#include "store/held_recordings.h"
#include "store/reader.h"
#include "cli/metric_limits.h"
#include "view/page.h"
#include "view/page_template.h"
#include "view/serve.h"
#include "view/source_lines.h"

static const char help[] =
    "usage: tidemark view FILE [OTHER] [OPTIONS]\n"
    "       tidemark view PID [OPTIONS]\n"
    "\n"
    "Writes one HTML page that answers in a browser what the commands answer in a terminal. It "
    "needs\n"
    "no network and no server, and may be sent to others. Of two recordings it shows the "
    "difference.\n"
    "For a process that is being recorded, it shows the state so far and updates it.\n"
    "\n"
    "  -o FILE, --output FILE\n"
    "                   where to write (default: FILE.html)\n"
    "  --no-open        do not open it, even if there is a display\n"
    "  --with-source    put in the lines of sources that the stacks name; they may be secret\n"
    "  --source-path P  where sources are: a folder, or FROM=TO (repeatable)\n"
    "  --limit LIMIT    exit with status 3 if all processes together have more than 'peak 500 "
    "MiB'\n"
    "                   or 'cpu 5s', or more than the first recording by 'peak +5 %' or\n"
    "                   'live +64 KiB'; the page shows it (repeatable)\n"
    "  --serve [ADDRESS]\n"
    "                   do not write a page, answer its questions over HTTP until Ctrl-C: for "
    "recordings\n"
    "                   too large for a page. ADDRESS is a PORT, or HOST:PORT of this machine\n"
    "  --help           this text\n"
    "\n"
    "Examples:\n"
    "  tidemark view app.tide                          app.tide.html\n"
    "  tidemark view before.tide after.tide -o change.html\n"
    "  tidemark view before.tide after.tide --limit 'peak +5 %' --limit 'temporary +10 %'\n"
    "  tidemark view huge.tide --serve 8000            elsewhere: ssh -L 8000:localhost:8000 HOST\n"
    "  tidemark view $(pgrep myserver)                 a running recording\n";

enum { OPT_NO_OPEN = 256, OPT_WITH_SOURCE, OPT_SOURCE_PATH, OPT_LIMIT, OPT_SERVE, OPT_HELP };

struct view {
    const char *output, *address;
    bool no_open, with_source, serve;
    struct source_paths source_paths;
    VEC(struct limit) limits;
    struct page page;
    pid_t pid; /* 0: recordings in files */
    struct recording *recordings[PAGE_FILES];
    struct strbuf limits_json, sources_json;
};

/* --- options --------------------------------------------------------------------------------- */

static int take(struct view *v, int val, struct err *err)
{
    switch (val) {
    case 'o':
        v->output = optarg;
        return 0;
    case OPT_NO_OPEN:
        v->no_open = true;
        return 0;
    case OPT_WITH_SOURCE:
        v->with_source = true;
        return 0;
    case OPT_SOURCE_PATH:
        return source_paths_add(&v->source_paths, optarg, err);
    case OPT_LIMIT:
        return limit_parse(vec_push(&v->limits), optarg, err);
    default:
        v->serve = true;
        v->address = optarg;
        return 0;
    }
}

/* Is the word of `--serve WORD` a port or an address, rather than a file? */
static bool is_address(const char *word)
{
    struct stat st;
    const char *colon = strrchr(word, ':'), *port = colon ? colon + 1 : word;
    return *port && strspn(port, "0123456789") == strlen(port) && stat(word, &st);
}

static int take_files(struct view *v, int count, char **words, const char *after_serve,
                      struct err *err)
{
    for (int i = 0; i < count; i++) {
        if (words[i] == after_serve && count > 1 && is_address(words[i])) {
            v->address = words[i];
            continue;
        }
        if (v->page.files == PAGE_FILES)
            return err_set(err, -EINVAL,
                           "'%s' is one file too many: tidemark view takes two at most", words[i]);
        v->page.paths[v->page.files++] = words[i];
    }
    return v->page.files ? 0
                         : err_set(err, -EINVAL,
                                   "a recording is missing: tidemark view FILE [OTHER] [OPTIONS]");
}

/* Returns 0; 1: the help was printed; -EINVAL and a sentence: wrong usage. */
static int parse(struct view *v, int argc, char **argv, struct err *err)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"no-open", no_argument, NULL, OPT_NO_OPEN},
        {"with-source", no_argument, NULL, OPT_WITH_SOURCE},
        {"source-path", required_argument, NULL, OPT_SOURCE_PATH},
        {"limit", required_argument, NULL, OPT_LIMIT},
        {"serve", optional_argument, NULL, OPT_SERVE},
        {"help", no_argument, NULL, OPT_HELP},
        {0}};
    static const char letters[] = ":ho:";
    const char *after_serve = NULL;
    int val, code = 0;
    optind = 0; /* GNU: start anew */
    opterr = 0;
    while (!code && (val = getopt_long(argc, argv, letters, options, NULL)) != -1) {
        if (val == 'h' || val == OPT_HELP)
            return 1;
        if (val == ':' || val == '?')
            return options_refuse(options, letters, argv, "view", err);
        if (val == OPT_SERVE && !optarg)
            after_serve = argv[optind];
        code = take(v, val, err);
    }
    if (!code)
        code = take_files(v, argc - optind, argv + optind, after_serve, err);
    if (code)
        return code;
    v->pid = v->page.files == 1 ? ctl_client_pid(v->page.paths[0]) : 0;
    v->page.live = v->pid != 0;
    v->page.serve = v->serve |= v->page.live;
    if (v->serve && v->output)
        return err_set(err, -EINVAL, "--serve writes no page; leave out -o");
    if (v->source_paths.given.count && !v->with_source)
        return err_set(err, -EINVAL, "--source-path is for --with-source");
    return 0;
}

/* --- the contents of the page ----------------------------------------------------------------- */

/* Recordings are needed here for limits and sources; a server needs them for everything. */
static int read_recordings(struct view *v, struct err *err)
{
    bool needed = v->serve || v->with_source || v->limits.count;
    for (size_t i = 0; needed && i < v->page.files; i++) {
        int code = v->pid ? live_recording_read(v->pid, NULL, &v->recordings[i], err)
                          : recording_read(v->page.paths[i], &v->recordings[i], err);
        if (code)
            return code;
    }
    return 0;
}

static int check_limits(struct view *v, struct err *err)
{
    struct json j;
    bool two = v->page.files > 1;
    for (size_t i = 0; v->limits.count && i < v->page.files; i++)
        if (v->recordings[i]->incomplete)
            fprintf(stderr, "tidemark view: %s is incomplete: its numbers may be too low\n",
                    v->page.paths[i]);
    json_init(&j, &v->limits_json);
    json_array(&j, NULL);
    for (size_t i = 0; i < v->limits.count; i++) {
        struct limit *l = &v->limits.items[i];
        int code = limit_check(l, two ? v->recordings[0] : NULL, v->recordings[two ? 1 : 0], err);
        if (code)
            return code;
        limit_json(l, &j);
    }
    json_end(&j);
    v->page.limits = v->limits.count ? v->limits_json.data : NULL;
    return 0;
}

static void add_sources(struct view *v)
{
    struct source_lines found;
    source_lines_json((const struct recording *const *)v->recordings, v->page.files,
                      &v->source_paths, &v->sources_json, &found);
    v->page.sources = v->sources_json.data;
    fprintf(stderr, "tidemark view: put in %zu lines of %zu source files%s\n", found.lines,
            found.files, found.cut ? "; there are more than a page should hold" : "");
    if (!found.files && found.missing)
        fprintf(stderr,
                "tidemark view: %zu source files were not found; --source-path says where\n",
                found.missing);
}

/* --- a page in a file ------------------------------------------------------------------------ */

static bool opens(const struct view *v)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return !v->no_open && ((x && *x) || (wayland && *wayland));
}

static void open_page(const char *path)
{
    char *word = xasprintf("%s%s", *path == '-' ? "./" : "", path);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setsid(); /* Ctrl-C ends us, not the browser */
        if (fork() == 0 && freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
            execlp("xdg-open", "xdg-open", word, (char *)NULL);
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    free(word);
}

static int write_page(struct view *v, struct err *err)
{
    struct strbuf html = {0};
    char *path = v->output ? xstrdup(v->output) : xasprintf("%s.html", v->page.paths[0]);
    int code = page_make(&v->page, &html, err);
    if (!code)
        code = picture_write(path, &html, err);
    if (!code && strcmp(path, "-") != 0) {
        puts(path);
        if (opens(v))
            open_page(path);
    }
    strbuf_release(&html);
    free(path);
    return code;
}

/* --- a page that is served -------------------------------------------------------------------- */

static void hold(const struct view *v, size_t which, struct recording *r)
{
    char *name = page_name(&v->page, which);
    recording_hold(name, r);
    free(name);
}

static void prepare(const struct view *v, size_t which)
{
    char *name = page_name(&v->page, which);
    page_prepare(name);
    free(name);
}

static int refresh(void *context, struct err *err)
{
    struct view *v = context;
    struct recording *r;
    int code = live_recording_read(v->pid, serve_keeps_waiting, &r, err);
    if (!code) {
        hold(v, 0, r);
        prepare(v, 0);
    }
    return code;
}

/* Every user of the machine can see the arguments of a browser. So the browser gets the address
 * with the token in a file that only this user can read. NULL: the file could not be written. The
 * caller removes it. */
static char *write_redirect(const char *address)
{
    const char *folder = getenv("TMPDIR");
    char *own = xasprintf("%s/tidemark-view.XXXXXX", folder && *folder ? folder : "/tmp");
    char *path = mkdtemp(own) ? xasprintf("%s/open.html", own) : NULL;
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        dprintf(
            fd,
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>tidemark</title>\n"
            "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n<a href=\"%s\">tidemark</a>\n",
            address, address);
    if (fd < 0 || close(fd)) {
        free(path);
        path = NULL;
    }
    free(own);
    return path;
}

static void remove_redirect(char *path)
{
    if (!path)
        return;
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    free(path);
}

static int serve(struct view *v, struct err *err)
{
    struct strbuf html = {0}, policy = {0};
    struct serve server = {.ask = page_command, .refresh = v->pid ? refresh : NULL, .context = v};
    for (size_t i = 0; i < v->page.files; i++)
        hold(v, i, v->recordings[i]);
    for (size_t i = 0; i < v->page.files; i++) {
        prepare(v, i); /* the children of the server find it ready */
        v->recordings[i] = NULL;
    }
    page_policy(&v->page, &policy);
    int code = page_make(&v->page, &html, err);
    if (!code)
        code = serve_open(&server, v->address, err);
    if (!code) {
        char *address = xasprintf("http://%s/?token=%s", server.address, server.token);
        server.page = html.data;
        server.page_size = html.size;
        server.policy = policy.data;
        puts(address);
        fflush(stdout);
        char *redirect = opens(v) ? write_redirect(address) : NULL;
        if (redirect)
            open_page(redirect);
        free(address);
        code = serve_run(&server, err);
        remove_redirect(redirect);
    }
    strbuf_release(&html);
    strbuf_release(&policy);
    return code;
}

int cmd_view(int argc, char **argv)
{
    struct view v = {.page = {.template = page_template, .template_size = page_template_size}};
    struct err err = {{0}};
    int code = parse(&v, argc, argv, &err), status = 0;
    if (code == 1) {
        fputs(help, stdout);
        code = 0;
        goto out;
    }
    if (!code && !page_template_size)
        code = err_set(&err, -ENOSYS, "this tidemark was built without the viewer");
    if (!code)
        code = read_recordings(&v, &err);
    if (!code)
        code = check_limits(&v, &err);
    if (!code && v.with_source)
        add_sources(&v);
    if (!code)
        code = v.serve ? serve(&v, &err) : write_page(&v, &err);
    if (!code)
        status = limits_status("view", v.limits.items, v.limits.count);
out:
    for (size_t i = 0; i < PAGE_FILES; i++)
        recording_free(v.recordings[i]);
    source_paths_release(&v.source_paths);
    vec_release(&v.limits);
    strbuf_release(&v.limits_json);
    strbuf_release(&v.sources_json);
    return code ? command_fail("view", &err, code == -EINVAL ? 2 : 1) : status;
}
