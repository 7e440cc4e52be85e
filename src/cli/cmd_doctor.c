/* tidemark doctor: what this machine permits, and what that means for recordings. */
#include "cli/commands.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <getopt.h>
#include <gnu/libc-version.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/doctor.h"
#include "cli/library_path.h"
#include "cli/terminal.h"
#include "machine/registers.h"
#include "answer/style.h"
#include "answer/wrap.h"
#include "store/reader.h"
#include "symbol/debugfile.h"
#include "symbol/disassembler.h"

#define TRIAL_TIMEOUT_MS 30000

static const char help[] =
    "usage: tidemark doctor [OPTIONS]\n"
    "\n"
    "Checks what this machine permits to this user, and says what that means for recordings.\n"
    "Each item is tried, not guessed. The exit status is 0 if programs can be recorded, 1 if\n"
    "not.\n"
    "\n"
    "      --json  one JSON object, schema tidemark.doctor/1\n"
    "      --help  this text\n"
    "\n"
    "Examples:\n"
    "\n"
    "  tidemark doctor\n"
    "  tidemark doctor --json | jq '.checks[] | select(.state != \"ok\")'\n";

void finding_set(struct finding *f, enum doctor_state state, const char *follows,
                 const char *found_format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, found_format);
    vsnprintf(text, sizeof text, found_format, arguments);
    va_end(arguments);
    f->state = state;
    strbuf_puts(&f->found, text);
    strbuf_puts(&f->follows, follows);
}

/* --- checks of tidemark itself ------------------------------------------------------------------
 */

static void check_library(struct finding *f)
{
    struct err err;
    char *library = library_find(&err);
    if (library)
        finding_set(f, DOCTOR_OK, "", "%s", library);
    else
        finding_set(f, DOCTOR_MISSING, "nothing can be recorded", "%s", err.text);
    free(library);
}

/* Reads what the process prints until it ends or the time is up. Returns its wait status. */
static int read_until_end(pid_t child, int fd, struct strbuf *said)
{
    char buffer[512];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (ssize_t n;
         poll(&p, 1, TRIAL_TIMEOUT_MS) == 1 && (n = read(fd, buffer, sizeof buffer)) > 0;)
        strbuf_add(said, buffer, (size_t)n);
    if (!(p.revents & POLLHUP)) {
        kill(child, SIGKILL);
        strbuf_puts(said, "it did not end in time\n");
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

/* Records `tidemark --version` into `file`; returns the wait status. */
static int record_trial(const char *file, struct strbuf *said)
{
    char exe[4096];
    ssize_t size = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[size > 0 ? size : 0] = '\0';
    int speak[2];
    if (pipe2(speak, O_CLOEXEC) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, STDIN_FILENO);
        dup2(nowhere, STDOUT_FILENO);
        dup2(speak[1], STDERR_FILENO);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        unsetenv("TIDEMARK_OPTIONS");
        execl(exe, "tidemark", "run", "--quiet", "-o", file, "--", exe, "--version", (char *)NULL);
        _exit(127);
    }
    close(speak[1]);
    int status = read_until_end(child, speak[0], said);
    close(speak[0]);
    return status;
}

static void check_recording(struct finding *f)
{
    const char *temporary = getenv("TMPDIR");
    char *folder =
        xasprintf("%s/tidemark-doctor-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    struct strbuf said = {0};
    struct recording *r = NULL;
    struct err err = {{0}};
    bool made = mkdtemp(folder) != NULL;
    char *file = xasprintf("%s/trial.tide", folder);
    int status = made ? record_trial(file, &said) : -1;
    int code = status == 0 ? recording_read(file, &r, &err) : -1;
    if (!made)
        finding_set(f, DOCTOR_LIMITED, "set TMPDIR to a folder that can be written to",
                    "no trial could be made: %s cannot be created", folder);
    else if (code == 0 && r->profiles.items[0].sites.count)
        finding_set(f, DOCTOR_OK, "", "a trial recording works");
    else
        finding_set(f, DOCTOR_MISSING, "programs cannot be recorded here: see the other lines",
                    "a trial failed: %.*s", said.size ? (int)strcspn(said.data, "\n") : 256,
                    said.size                          ? said.data
                    : status != 0                      ? "tidemark run did not succeed"
                    : code                             ? err.text
                    : r->profiles.items[0].notes.count ? r->profiles.items[0].notes.items[0]
                                                       : "nothing was recorded");
    if (made) {
        unlink(file);
        rmdir(folder);
    }
    recording_free(r);
    strbuf_release(&said);
    free(file);
    free(folder);
}

static void check_symbols(struct finding *f)
{
    Dl_info libc;
    struct elf_image image, debug = {0};
    struct strbuf where = {0};
    elf_version(EV_CURRENT);
    if (!dladdr(__extension__(void *) puts, &libc) || elf_image_open(&image, libc.dli_fname) != 0) {
        finding_set(f, DOCTOR_LIMITED, "functions of the C library may be without names",
                    "the C library's file cannot be read");
        return;
    }
    bool found = image.has_dwarf ||
                 debugfile_find(DEBUGFILE_ROOT, libc.dli_fname, &image, &debug, &where) == 0;
    finding_set(f, found ? DOCTOR_OK : DOCTOR_LIMITED,
                found ? ""
                      : "functions of system libraries will be without lines, some without names: "
                        "install their debug packages (libc6-dbg); nothing is fetched (debuginfod)",
                "%s of %s %s%s", "debug information", libc.dli_fname,
                !found            ? "is not installed"
                : image.has_dwarf ? "is in the file"
                                  : "is ",
                found && !image.has_dwarf ? where.data : "");
    elf_image_release(&debug);
    elf_image_release(&image);
    strbuf_release(&where);
}

static void check_instructions(struct finding *f)
{
    struct err err;
    struct disassembler *d = disassembler_new(ARCH_MACHINE, &err);
    if (d)
        finding_set(f, DOCTOR_OK, "", "the disassembler can be loaded");
    else
        finding_set(f, DOCTOR_LIMITED, "'tidemark annotate --asm' shows no instructions", "%s",
                    err.text);
    disassembler_free(d);
}

static void check_system(struct finding *f)
{
    struct utsname u;
    uname(&u);
    bool known = strcmp(u.machine, ARCH_NAME) == 0;
    finding_set(f, known ? DOCTOR_OK : DOCTOR_MISSING,
                known ? "" : "this tidemark is for " ARCH_NAME ": nothing can be recorded",
                "%s %s, glibc %s, %s, uid %u", u.sysname, u.release, gnu_get_libc_version(),
                u.machine, (unsigned)geteuid());
}

/* --- the command --------------------------------------------------------------------------------
 */

static const struct check {
    const char *name;
    void (*check)(struct finding *f);
} checks[] = {
    {"system", check_system},
    {"library", check_library},
    {"socket", check_socket},
    {"shared-memory", check_shared_memory},
    {"recording", check_recording},
    {"address-space", check_address_space},
    {"descriptors", check_descriptors},
    {"locked-memory", check_locked_memory},
    {"memory-cgroup", check_memory_cgroup},
    {"disk-space", check_disk_space},
    {"perf-events", check_perf_events},
    {"ptrace", check_ptrace},
    {"pagemap", check_pagemap},
    {"pidfd", check_pidfd},
    {"symbols", check_symbols},
    {"instructions", check_instructions},
};

#define CHECKS (sizeof checks / sizeof *checks)

static const char *const state_names[] = {
    [DOCTOR_OK] = "ok", [DOCTOR_LIMITED] = "limited", [DOCTOR_MISSING] = "missing"};

#define FOUND_COLUMN 24

static void print_text(const struct finding *findings, bool works)
{
    struct style s = style_of_stdout();
    for (size_t i = 0; i < CHECKS; i++) {
        const struct finding *f = &findings[i];
        struct strbuf line = {0};
        strbuf_printf(&line, "%s%-8s%s %s%-14s%s %s", f->state == DOCTOR_OK ? "" : style_warn(&s),
                      state_names[f->state], style_plain(&s), style_bold(&s), checks[i].name,
                      style_plain(&s), f->found.data);
        wrap_since(&line, 0, FOUND_COLUMN, s.width);
        strbuf_putc(&line, '\n');
        if (f->follows.size) {
            char indent[FOUND_COLUMN + 1];
            snprintf(indent, sizeof indent, "%*s", FOUND_COLUMN, "");
            wrap_text(indent, f->follows.data, s.width, &line);
        }
        fputs(line.data, stdout);
        strbuf_release(&line);
    }
    printf("\n%s\n", works ? "Programs can be recorded on this machine."
                           : "Programs cannot be recorded on this machine.");
}

static void print_json(const struct finding *findings, bool works)
{
    struct strbuf out = {0};
    struct json j;
    json_init(&j, &out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.doctor/1");
    json_bool(&j, "works", works);
    json_array(&j, "checks");
    for (size_t i = 0; i < CHECKS; i++) {
        json_object(&j, NULL);
        json_string(&j, "name", checks[i].name);
        json_string(&j, "state", state_names[findings[i].state]);
        json_string(&j, "found", findings[i].found.data);
        json_string(&j, "follows", findings[i].follows.data);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    puts(out.data);
    strbuf_release(&out);
}

static int usage_error(const char *what)
{
    fprintf(stderr, "tidemark doctor: unknown argument '%s'; it takes --json or --help\n", what);
    return 2;
}

int cmd_doctor(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
    bool json = false;
    optind = 0;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "+h", options, NULL)) != -1;) {
        if (c == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (c != 'j')
            return usage_error(argv[optind - 1]);
        json = true;
    }
    if (optind < argc)
        return usage_error(argv[optind]);
    struct finding findings[CHECKS] = {0};
    bool works = true;
    for (size_t i = 0; i < CHECKS; i++) {
        checks[i].check(&findings[i]);
        /* The trial uses everything that a recording of the heap needs. */
        if (checks[i].check == check_recording)
            works = findings[i].state != DOCTOR_MISSING;
    }
    (json ? print_json : print_text)(findings, works);
    for (size_t i = 0; i < CHECKS; i++) {
        strbuf_release(&findings[i].found);
        strbuf_release(&findings[i].follows);
    }
    if (fflush(stdout) || ferror(stdout)) {
        perror("tidemark doctor: cannot write the output");
        return 1;
    }
    return works ? 0 : 1;
}
