#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "store/held_recordings.h"
#include "store/reader.h"

/* Recordings and snapshots that were piped through gzip can be read directly. */
static bool is_gzip(int fd)
{
    uint8_t magic[2];
    return pread(fd, magic, sizeof magic, 0) == sizeof magic && magic[0] == 0x1f &&
           magic[1] == 0x8b;
}

static gzFile open_gzip(int fd)
{
    int own = dup(fd); /* zlib closes its descriptor */
    gzFile gz = own >= 0 ? gzdopen(own, "rb") : NULL;
    if (!gz && own >= 0)
        close(own);
    return gz;
}

int recording_file_open(struct chunk_source *s, const char *path, struct err *err)
{
    /* Without O_NONBLOCK, a FIFO without a writer would block us before we know what it is. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    int status = 0;
    *s = (struct chunk_source){.fd = fd};
    if (fd < 0)
        return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
    if (fstat(fd, &st) || fcntl(fd, F_SETFL, 0))
        status = err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        status = err_set(err, -EISDIR, "%s is a folder, not a tidemark recording", path);
    else if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
        status = err_set(err, -EBADMSG, "%s is a device, not a tidemark recording", path);
    else if (S_ISREG(st.st_mode) && is_gzip(fd) && !(s->gz = open_gzip(fd)))
        status = err_set(err, -ENOMEM, "cannot unpack %s", path);
    if (status)
        recording_file_close(s);
    return status;
}

void recording_file_close(struct chunk_source *s)
{
    if (s->gz)
        gzclose(s->gz);
    chunk_source_release(s);
    close(s->fd);
}

bool recording_file_is(const char *path)
{
    char magic[sizeof FILE_MAGIC - 1];
    struct stat st;
    gzFile gz = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? gzopen(path, "rb") : NULL;
    if (!gz)
        return false;
    bool is = gzread(gz, magic, sizeof magic) == (int)sizeof magic &&
              memcmp(magic, FILE_MAGIC, sizeof magic) == 0;
    gzclose(gz);
    return is;
}

int recording_read_some(const char *path, const struct reader_choice *only, struct recording **out,
                        struct err *err)
{
    struct chunk_source source;
    int status = recording_file_open(&source, path, err);
    if (status)
        return status;
    status = recording_take(&source, path, only, out, err);
    recording_file_close(&source);
    return status;
}

int recording_read(const char *path, struct recording **out, struct err *err)
{
    *out = recording_held(path);
    return *out ? 0 : recording_read_some(path, NULL, out, err);
}
