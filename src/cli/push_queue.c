#include "cli/push_queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ENDING          ".tidemark-push"
#define LONGEST_REQUEST 65536
#define LARGEST_FILE    (64 << 20)

void pushed_release(struct pushed *p)
{
    free(p->request);
    strbuf_release(&p->body);
    *p = (struct pushed){0};
}

static int is_ours(const struct dirent *entry)
{
    size_t size = strlen(entry->d_name), end = sizeof ENDING - 1;
    return entry->d_name[0] != '.' && size > end && strcmp(entry->d_name + size - end, ENDING) == 0;
}

/* The paths of the files, oldest first: all names begin with the same number of digits. */
static int list_files(struct push_queue *q, struct err *err)
{
    struct dirent **entries = NULL;
    int count = scandir(q->folder, &entries, is_ours, alphasort);
    if (count < 0)
        return err_set(err, -errno, "cannot read the folder %s: %s", q->folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        *vec_push(&q->files) = xasprintf("%s/%s", q->folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return 0;
}

static void forget_files(struct push_queue *q)
{
    for (size_t i = 0; i < q->files.count; i++)
        free(q->files.items[i]);
    vec_release(&q->files);
}

/* Creates the folder, and those above it if needed. */
static int make_folder(const char *folder)
{
    char *path = xstrdup(folder);
    for (char *c = path + 1; *path && *c; c++)
        if (*c == '/') {
            *c = '\0';
            mkdir(path, 0700); /* if this fails, so does creating the last one */
            *c = '/';
        }
    int code = mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
    free(path);
    return code;
}

int push_queue_open(struct push_queue *q, const char *folder, uint64_t max_bytes, struct err *err)
{
    *q = (struct push_queue){.folder = folder, .max_bytes = max_bytes, .lock = -1};
    if (make_folder(folder))
        return err_set(err, -errno, "cannot make the folder %s: %s", folder, strerror(errno));
    q->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (q->lock < 0)
        return err_set(err, -errno, "cannot open the folder %s: %s", folder, strerror(errno));
    if (!flock(q->lock, LOCK_EX | LOCK_NB))
        return list_files(q, err);
    close(q->lock);
    q->lock = -1;
    return 0;
}

void push_queue_close(struct push_queue *q)
{
    forget_files(q);
    if (q->lock >= 0)
        close(q->lock);
    q->lock = -1;
}

static bool is_request(const char *text, size_t size)
{
    return (size > strlen(PUSH_INGEST) && memcmp(text, PUSH_INGEST, strlen(PUSH_INGEST)) == 0) ||
           (size == strlen(PUSH_OTLP) && memcmp(text, PUSH_OTLP, size) == 0);
}

int push_queue_read(const char *file, struct pushed *out, struct err *err)
{
    struct stat st;
    *out = (struct pushed){0};
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st)) {
        int code = -errno;
        if (fd >= 0)
            close(fd);
        return err_set(err, code, "cannot read %s: %s", file, strerror(-code));
    }
    struct strbuf bytes = {0};
    strbuf_reserve(&bytes, 65536);
    ssize_t n = 0;
    while (S_ISREG(st.st_mode) && bytes.size <= LARGEST_FILE) {
        char part[65536];
        n = read(fd, part, sizeof part);
        if (n <= 0)
            break;
        strbuf_add(&bytes, part, (size_t)n);
    }
    close(fd);
    char *end = bytes.size ? memchr(bytes.data, '\n', bytes.size) : NULL;
    if (n < 0 || !end || end - bytes.data > LONGEST_REQUEST ||
        !is_request(bytes.data, (size_t)(end - bytes.data))) {
        strbuf_release(&bytes);
        return err_set(err, -EINVAL, "%s is not a profile that was kept", file);
    }
    out->request = xstrndup(bytes.data, (size_t)(end - bytes.data));
    strbuf_add(&out->body, end + 1, bytes.size - (size_t)(end + 1 - bytes.data));
    strbuf_release(&bytes);
    return 0;
}

/* Removes the oldest files until all are within the limit. Another process may do the same. */
static size_t remove_oldest(const struct push_queue *q)
{
    struct push_queue now = {.folder = q->folder};
    uint64_t bytes = 0;
    size_t removed = 0;
    if (list_files(&now, NULL))
        return 0;
    for (size_t i = now.files.count; i-- > 0;) {
        struct stat st;
        if (lstat(now.files.items[i], &st))
            continue;
        bytes += (uint64_t)st.st_size;
        if (bytes > q->max_bytes && !unlink(now.files.items[i]))
            removed++;
    }
    forget_files(&now);
    return removed;
}

static int write_file(const char *path, const struct pushed *one)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        return -errno;
    fprintf(file, "%s\n", one->request);
    fwrite(one->body.data, 1, one->body.size, file);
    int bad = ferror(file);
    bad |= fclose(file) != 0;
    return bad ? -errno : 0;
}

int push_queue_add(const struct push_queue *q, const struct pushed *one, size_t *dropped,
                   struct err *err)
{
    struct timespec now;
    *dropped = 0;
    if (strlen(one->request) + 1 + one->body.size > q->max_bytes)
        return err_set(err, -EFBIG, "it is larger than --queue-size");
    clock_gettime(CLOCK_REALTIME, &now);
    char *path = xasprintf("%s/%011lld.%09ld-%d" ENDING, q->folder, (long long)now.tv_sec,
                           now.tv_nsec, (int)getpid());
    char *part = xasprintf("%s.part", path);
    int code = write_file(part, one);
    if (!code && rename(part, path))
        code = -errno;
    if (code) {
        err_set(err, code, "cannot write to the folder %s: %s", q->folder, strerror(-code));
        unlink(part);
    } else {
        *dropped = remove_oldest(q);
    }
    free(part);
    free(path);
    return code;
}
