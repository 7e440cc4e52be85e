#include "collect/session/output.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"

/* Appends a value. In a shell command, no character of it means anything but itself, however the
 * user quotes it. */
static void add_value(struct strbuf *b, const char *value, bool piped)
{
    for (const char *c = value; *c; c++) {
        bool plain = isalnum((unsigned char)*c) || strchr("_.,:+@%/=-", *c) || *c & 0x80;
        strbuf_putc(b, plain || !piped ? *c : '_');
    }
}

char *output_name(const char *pattern, const char *program, pid_t pid, struct err *err)
{
    struct strbuf b = {0};
    char text[256] = "";
    bool piped = *pattern == '|';
    for (const char *s = pattern; *s; s++) {
        if (*s != '%') {
            strbuf_putc(&b, *s);
            continue;
        }
        const char *end;
        time_t now = time(NULL);
        struct tm local;
        switch (*++s) {
        case 'n':
            add_value(&b, path_base(program), piped);
            break;
        case 'p':
            strbuf_printf(&b, "%d", pid);
            break;
        case '%':
            strbuf_putc(&b, '%');
            break;
        case 'h':
            if (gethostname(text, sizeof text - 1) == 0)
                add_value(&b, text, piped);
            break;
        case 't':
            strftime(text, sizeof text, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
            strbuf_puts(&b, text);
            break;
        case 'q':
            end = s[1] == '{' ? strchr(s, '}') : NULL;
            if (end) {
                char *variable = xstrndup(s + 2, (size_t)(end - s - 2));
                const char *value = getenv(variable);
                add_value(&b, value ? value : "", piped);
                free(variable);
                s = end;
                break;
            }
            /* fall through */
        default:
            err_set(err, -EINVAL,
                    "unknown %%%c in output name '%s'; it may have %%n %%p %%h %%t %%q{VAR} %%%%",
                    *s ? *s : ' ', pattern);
            strbuf_release(&b);
            return NULL;
        }
    }
    if (!b.size || (piped && !b.data[1 + strspn(b.data + 1, " \t")])) {
        err_set(err, -EINVAL, "nothing is left of output name '%s': its variables are empty",
                pattern);
        strbuf_release(&b);
        return NULL;
    }
    char *name = strbuf_detach(&b);
    if (piped || *name != '|')
        return name;
    char *file = xasprintf("./%s", name); /* only a pattern can ask for a command, not a value */
    free(name);
    return file;
}

/* The directory part; "." if there is none. */
static char *directory_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash == name ? xstrdup("/")
           : slash       ? xstrndup(name, (size_t)(slash - name))
                         : xstrdup(".");
}

/* Devices and our own descriptors are written to, never replaced. */
static bool is_device(const char *name)
{
    struct stat s;
    return strcmp(name, "/dev/stdout") == 0 || strcmp(name, "/dev/stderr") == 0 ||
           strncmp(name, "/dev/fd/", 8) == 0 || (lstat(name, &s) == 0 && S_ISCHR(s.st_mode));
}

/* A number that nobody can guess, so that nobody can put a file in our way. A session and its
 * forked copies share it, so that output_discard finds what a killed copy left behind. */
static uint64_t part_secret(void)
{
    static uint64_t secret;
    if (!secret && getrandom(&secret, sizeof secret, 0) != (ssize_t)sizeof secret)
        secret = (uint64_t)getpid();
    return secret;
}

bool output_is_file(const char *name)
{
    return name[0] != '|' && !is_device(name);
}

static char *part_name(const char *name, pid_t writer)
{
    return xasprintf("%s.part-%016" PRIx64 "-%d", name, part_secret(), (int)writer);
}

int output_check(const char *name, struct err *err)
{
    struct stat s;
    part_secret(); /* now, before copies are forked that must share it */
    if (!output_is_file(name))
        return 0;
    if (lstat(name, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISLNK(s.st_mode))
        return err_set(err, -EEXIST,
                       "cannot write the recording to %s: it is %s; choose another name with -o",
                       name, S_ISDIR(s.st_mode) ? "a directory" : "not a regular file");
    char *part = part_name(name, INT_MAX); /* the longest */
    bool too_long = lstat(part, &s) != 0 && errno == ENAMETOOLONG;
    free(part);
    if (too_long)
        return err_set(
            err, -ENAMETOOLONG,
            "cannot write the recording: its name is too long, %.100s...; choose another "
            "name with -o",
            name);
    char *directory = directory_of(name);
    int code = access(directory, W_OK | X_OK) == 0 ? 0 : -errno;
    if (code)
        err_set(err, code, "cannot write recordings to %s: %s; choose another place with -o",
                directory, strerror(-code));
    free(directory);
    return code;
}

static int write_all(int fd, const struct strbuf *bytes)
{
    for (size_t done = 0; done < bytes->size;) {
        ssize_t n = write(fd, bytes->data + done, bytes->size - done);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            done += (size_t)n;
    }
    return 0;
}

void output_discard(const char *name, pid_t writer)
{
    char *part = part_name(name, writer);
    unlink(part);
    free(part);
}

/* Writes to a new file, whatever exists there. The caller's umask does not make it unreadable. */
static int write_new(const char *name, const struct strbuf *bytes)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int code = fd < 0 || fchmod(fd, 0600) != 0 ? -errno : write_all(fd, bytes);
    if (fd >= 0 && close(fd) != 0 && !code)
        code = -errno;
    if (code && fd >= 0)
        unlink(name);
    return code;
}

static int write_device(const char *name, const struct strbuf *bytes)
{
    int fd = open(name, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    int code = fd < 0 ? -errno : write_all(fd, bytes);
    if (fd >= 0 && close(fd) != 0 && !code)
        code = -errno;
    return code;
}

int output_write_file(const char *name, const struct strbuf *bytes)
{
    struct stat s;
    if (is_device(name))
        return write_device(name, bytes);
    if (lstat(name, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISLNK(s.st_mode))
        return S_ISDIR(s.st_mode) ? -EISDIR : -EEXIST; /* it was created while the program ran */
    char *part = part_name(name, getpid());
    int code = write_new(part, bytes);
    if (!code && rename(part, name) != 0) {
        code = -errno;
        unlink(part);
    }
    free(part);
    return code;
}

/* Writes over the file of that name: the last checkpoint, which is to be replaced. Its room is made
 * first, so that what is there stays as it is if there is not enough. */
static int write_over(const char *name, const struct strbuf *bytes)
{
    int fd = open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    int code = fd < 0 || fallocate(fd, 0, 0, (off_t)bytes->size) != 0 ? -errno : 0;
    if (!code)
        code = write_all(fd, bytes);
    if (!code && ftruncate(fd, (off_t)bytes->size) != 0)
        code = -errno;
    if (fd >= 0 && close(fd) != 0 && !code)
        code = -errno;
    return code;
}

static int write_command(const char *command, const struct strbuf *bytes, struct err *err)
{
    FILE *pipe = popen(command, "we");
    if (!pipe)
        return err_set(err, -errno, "cannot run '%s': %s", command, strerror(errno));
    int code = write_all(fileno(pipe), bytes);
    int status = pclose(pipe);
    if (code || status != 0)
        return err_set(err, code ? code : -EPIPE, "'%.200s%s' did not take the recording (%s %d)",
                       command, strlen(command) > 200 ? "..." : "",
                       WIFSIGNALED(status) ? "killed by signal" : "status",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return 0;
}

static void forget(char **name)
{
    free(*name);
    *name = NULL;
}

/* Saves the bytes in the temporary directory because of the error in `err`, which then also says
 * where they are. Others may write to this directory too, so the name must be one that nobody can
 * guess. */
static void save_elsewhere(char **name, const char *base, const struct strbuf *bytes,
                           struct err *err)
{
    const char *temporary = getenv("TMPDIR");
    char *other = xasprintf("%s/%.200s-%016" PRIx64, temporary && *temporary ? temporary : "/tmp",
                            base, part_secret());
    struct err why = *err;
    bool saved = write_new(other, bytes) == 0;
    if (saved)
        err_set(err, 0, "%s; the recording was saved as %s", why.text, other);
    else
        err_set(err, 0, "%s; nor could it be saved in the temporary directory", why.text);
    forget(name);
    if (saved)
        *name = other;
    else
        free(other);
}

int output_write(char **name, const struct strbuf *bytes, bool is_last, struct err *err)
{
    if ((*name)[0] == '|') {
        int refused = write_command(*name + 1, bytes, err);
        if (refused && is_last)
            save_elsewhere(name, "tidemark.tide", bytes, err);
        else if (refused)
            forget(name);
        return refused;
    }
    int code = output_write_file(*name, bytes);
    bool is_full = code == -ENOSPC || code == -EDQUOT;
    if (is_last && is_full && output_is_file(*name) && write_over(*name, bytes) == 0)
        return 0;
    if (!code)
        return 0;
    const char *slash = strrchr(*name, '/');
    err_set(err, code, "cannot write %s: %s", *name, strerror(-code));
    save_elsewhere(name, slash ? slash + 1 : *name, bytes, err);
    return code;
}
