#include "collect/output.h"

#include <errno.h>
#include <stdbool.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

char *output_name(const char *pattern, const char *program, pid_t pid, struct err *err)
{
    struct strbuf b = {0};
    char text[256] = "";
    for (const char *s = pattern; *s; s++) {
        if (*s != '%') {
            strbuf_putc(&b, *s);
            continue;
        }
        const char *slash = strrchr(program, '/'), *end;
        time_t now = time(NULL);
        struct tm local;
        switch (*++s) {
        case 'n':
            strbuf_puts(&b, slash ? slash + 1 : program);
            break;
        case 'p':
            strbuf_printf(&b, "%d", pid);
            break;
        case '%':
            strbuf_putc(&b, '%');
            break;
        case 'h':
            if (gethostname(text, sizeof text - 1) == 0)
                strbuf_puts(&b, text);
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
                strbuf_puts(&b, value ? value : "");
                free(variable);
                s = end;
                break;
            }
            /* fall through */
        default:
            err_set(err, -EINVAL,
                    "unknown %%%c in output name '%s'; known are %%n %%p %%h %%t %%q{VAR} %%%%",
                    *s ? *s : ' ', pattern);
            strbuf_release(&b);
            return NULL;
        }
    }
    return strbuf_detach(&b);
}

/* The directory part; "." where there is none. */
static char *directory_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash == name ? xstrdup("/")
           : slash       ? xstrndup(name, (size_t)(slash - name))
                         : xstrdup(".");
}

/*
 * Devices are written to, never replaced: /dev/null, a terminal, and the links /dev/stdout and
 * /dev/fd/N. Nobody but root can make one, so this follows no name that another user has put there.
 */
static bool is_device(const char *name)
{
    struct stat s;
    return strncmp(name, "/dev/", 5) == 0
               ? stat(name, &s) == 0 && (S_ISCHR(s.st_mode) || S_ISFIFO(s.st_mode))
               : lstat(name, &s) == 0 && S_ISCHR(s.st_mode);
}

int output_check(const char *name, struct err *err)
{
    struct stat s;
    if (name[0] == '|' || is_device(name))
        return 0;
    if (lstat(name, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISLNK(s.st_mode))
        return err_set(err, -EEXIST,
                       "cannot write the recording to %s: it is %s; choose another name with -o",
                       name, S_ISDIR(s.st_mode) ? "a directory" : "not a regular file");
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

/* Writes to a new file, mode 0600, whose name is the template with its six X replaced. */
static int write_new(char *template, const struct strbuf *bytes)
{
    int fd = mkostemp(template, O_CLOEXEC);
    int code = fd < 0 ? -errno : write_all(fd, bytes);
    if (fd >= 0 && close(fd) != 0 && !code)
        code = -errno;
    if (code && fd >= 0)
        unlink(template);
    return code;
}

static int write_device(const char *name, const struct strbuf *bytes)
{
    int fd = open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    int code = fd < 0 ? -errno : write_all(fd, bytes);
    if (fd >= 0 && close(fd) != 0 && !code)
        code = -errno;
    return code;
}

static int write_file(const char *name, const struct strbuf *bytes)
{
    if (is_device(name))
        return write_device(name, bytes);
    char *part = xasprintf("%s.part-XXXXXX", name);
    int code = write_new(part, bytes);
    if (!code && rename(part, name) != 0) {
        code = -errno;
        unlink(part);
    }
    free(part);
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
        return err_set(err, code ? code : -EPIPE, "'%s' did not take the recording (status %d)",
                       command, WIFEXITED(status) ? WEXITSTATUS(status) : status);
    return 0;
}

int output_write(char **name, const struct strbuf *bytes, struct err *err)
{
    if ((*name)[0] == '|')
        return write_command(*name + 1, bytes, err);
    int code = write_file(*name, bytes);
    if (!code)
        return 0;
    const char *slash = strrchr(*name, '/'), *temporary = getenv("TMPDIR");
    char *other = xasprintf("%s/%s-XXXXXX", temporary && *temporary ? temporary : "/tmp",
                            slash ? slash + 1 : *name);
    if (write_new(other, bytes) != 0) {
        free(other);
        return err_set(err, code,
                       "cannot write %s: %s; nor could it be saved in the temporary directory",
                       *name, strerror(-code));
    }
    err_set(err, code, "cannot write %s: %s; the recording was saved as %s", *name, strerror(-code),
            other);
    free(*name);
    *name = other;
    return code;
}
