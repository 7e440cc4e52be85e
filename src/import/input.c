#include "import/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static int cannot_unpack(struct input *s, const char *why, struct err *err)
{
    return err_set(err, -EBADMSG, "%s is damaged: %s", s->name, why);
}

/* Reads up to `size` bytes as they are in the file; 0: the end. */
static int64_t take_raw(struct input *s, void *to, size_t size, struct err *err)
{
    int64_t n;
    if (s->fd < 0) {
        n = (int64_t)(s->size - s->taken < size ? s->size - s->taken : size);
        memcpy(to, s->bytes + s->taken, (size_t)n);
    } else {
        do {
            n = read(s->fd, to, size);
        } while (n < 0 && errno == EINTR);
        if (n < 0)
            return err_set(err, -errno, "cannot read %s: %s", s->name, strerror(errno));
    }
    s->taken += (uint64_t)n;
    if (s->progress && n > 0 && s->progress(s->context, s->taken, s->file_size) < 0)
        return err_set(err, -EINTR, "interrupted");
    return n;
}

static int64_t refill_packed(struct input *s, struct err *err)
{
    s->in_at = s->in_size = 0;
    int64_t n = take_raw(s, s->in, INPUT_PIECE, err);
    if (n > 0)
        s->in_size = (size_t)n;
    return n;
}

static int64_t unpack_gzip(struct input *s, struct err *err)
{
    z_stream *z = s->unpacker;
    z->next_out = s->out;
    z->avail_out = INPUT_PIECE;
    while (z->avail_out == INPUT_PIECE) {
        if (s->in_at == s->in_size) {
            int64_t n = refill_packed(s, err);
            if (n < 0)
                return n;
            if (n == 0)
                return s->packed_end ? 0 : cannot_unpack(s, "its gzip data ends too early", err);
        }
        if (s->packed_end) { /* another member may follow */
            inflateReset(z);
            s->packed_end = false;
        }
        z->next_in = s->in + s->in_at;
        z->avail_in = (unsigned)(s->in_size - s->in_at);
        int code = inflate(z, Z_NO_FLUSH);
        s->in_at = s->in_size - z->avail_in;
        if (code == Z_STREAM_END)
            s->packed_end = true;
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return cannot_unpack(s, "gzip cannot unpack it", err);
    }
    return (int64_t)(INPUT_PIECE - z->avail_out);
}

static int64_t unpack_zstd(struct input *s, struct err *err)
{
    ZSTD_outBuffer out = {s->out, INPUT_PIECE, 0};
    while (out.pos == 0) {
        if (s->in_at == s->in_size) {
            int64_t n = refill_packed(s, err);
            if (n < 0)
                return n;
            if (n == 0)
                return s->packed_end ? 0 : cannot_unpack(s, "its zstd data ends too early", err);
        }
        ZSTD_inBuffer in = {s->in, s->in_size, s->in_at};
        size_t left = ZSTD_decompressStream(s->unpacker, &out, &in);
        s->in_at = in.pos;
        if (ZSTD_isError(left))
            return cannot_unpack(s, "zstd cannot unpack it", err);
        s->packed_end = left == 0;
    }
    return (int64_t)out.pos;
}

static int64_t refill(struct input *s, struct err *err)
{
    s->out_at = s->out_size = 0;
    int64_t n = s->packing == INPUT_GZIP   ? unpack_gzip(s, err)
                : s->packing == INPUT_ZSTD ? unpack_zstd(s, err)
                                           : take_raw(s, s->out, INPUT_PIECE, err);
    if (n > 0)
        s->out_size = (size_t)n;
    return n;
}

/* Finds out whether the file is compressed; the bytes read for that are used again. */
static int begin(struct input *s, struct err *err)
{
    static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd}, gzip[] = {0x1f, 0x8b};
    s->in = xmalloc(INPUT_PIECE);
    s->out = xmalloc(INPUT_PIECE);
    while (s->in_size < sizeof zstd) { /* a pipe may return less at once */
        int64_t n = take_raw(s, s->in + s->in_size, INPUT_PIECE - s->in_size, err);
        if (n < 0)
            return (int)n;
        if (n == 0)
            break;
        s->in_size += (size_t)n;
    }
    if (s->in_size >= sizeof zstd && memcmp(s->in, zstd, sizeof zstd) == 0) {
        s->packing = INPUT_ZSTD;
        s->unpacker = must_alloc(ZSTD_createDStream());
        ZSTD_DCtx_setParameter(s->unpacker, ZSTD_d_windowLogMax, 27); /* 128 MiB at most */
    } else if (s->in_size >= sizeof gzip && memcmp(s->in, gzip, sizeof gzip) == 0) {
        s->packing = INPUT_GZIP;
        z_stream *z = s->unpacker = xcalloc(1, sizeof *z);
        if (inflateInit2(z, 15 + 16) != Z_OK)
            return err_set(err, -ENOMEM, "cannot unpack %s", s->name);
    } else {
        memcpy(s->out, s->in, s->in_size);
        s->out_size = s->in_size;
        s->in_size = 0;
    }
    return 0;
}

/* A FIFO that is opened before its writer would read as an empty file. */
static void wait_for_a_writer(int fifo)
{
    struct pollfd wanted = {.fd = fifo, .events = POLLIN};
    while (poll(&wanted, 1, -1) < 0 && errno == EINTR)
        ;
}

int input_open(struct input *s, const char *path, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct stat st;
    *s = (struct input){.name = is_stdin ? "standard input" : path};
    /* Without O_NONBLOCK, some devices would block in open(). */
    s->fd = is_stdin ? dup(0) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (s->fd < 0)
        return err_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
    int code = 0;
    bool known = fstat(s->fd, &st) == 0;
    if (known && !is_stdin && S_ISFIFO(st.st_mode))
        wait_for_a_writer(s->fd);
    if (!known || (!is_stdin && fcntl(s->fd, F_SETFL, 0)))
        code = err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        code = err_set(err, -EISDIR, "%s is a folder", path);
    else if (!is_stdin && !S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
        code = err_set(err, -EBADMSG, "%s is a device", path);
    if (!code && S_ISREG(st.st_mode))
        s->file_size = (uint64_t)st.st_size;
    if (!code)
        code = begin(s, err);
    if (code)
        input_release(s);
    return code;
}

void input_of_descriptor(struct input *s, int fd, const char *name)
{
    *s = (struct input){.name = name, .fd = fd, .out = xmalloc(INPUT_PIECE)};
}

int input_of_bytes(struct input *s, const void *bytes, size_t size, const char *name,
                   struct err *err)
{
    *s = (struct input){
        .name = name, .fd = -1, .bytes = bytes, .size = size, .file_size = (uint64_t)size};
    int code = begin(s, err);
    if (code)
        input_release(s);
    return code;
}

void input_release(struct input *s)
{
    if (s->fd >= 0)
        close(s->fd);
    if (s->packing == INPUT_GZIP && s->unpacker)
        inflateEnd(s->unpacker);
    if (s->packing == INPUT_ZSTD)
        ZSTD_freeDStream(s->unpacker);
    else
        free(s->unpacker);
    free(s->in);
    free(s->out);
    strbuf_release(&s->line);
    *s = (struct input){.fd = -1};
}

int64_t input_read(struct input *s, void *to, size_t size, struct err *err)
{
    size_t done = 0;
    while (done < size) {
        if (s->out_at == s->out_size) {
            int64_t n = refill(s, err);
            if (n < 0)
                return n;
            if (n == 0)
                break;
        }
        size_t part = s->out_size - s->out_at < size - done ? s->out_size - s->out_at : size - done;
        memcpy((char *)to + done, s->out + s->out_at, part);
        s->out_at += part;
        done += part;
    }
    return (int64_t)done;
}

int64_t input_peek(struct input *s, const uint8_t **bytes, struct err *err)
{
    int64_t n = s->out_at == s->out_size ? refill(s, err) : 1;
    if (n < 0)
        return n;
    *bytes = s->out + s->out_at;
    return (int64_t)(s->out_size - s->out_at);
}

int input_line(struct input *s, char **line, struct err *err)
{
    strbuf_clear(&s->line);
    for (;;) {
        if (s->out_at == s->out_size) {
            int64_t n = refill(s, err);
            if (n < 0)
                return (int)n;
            if (n == 0 && !s->line.size)
                return 0;
            if (n == 0)
                break;
        }
        const uint8_t *from = s->out + s->out_at;
        size_t most = s->out_size - s->out_at;
        const uint8_t *newline = memchr(from, '\n', most);
        size_t part = newline ? (size_t)(newline - from) : most;
        strbuf_add(&s->line, from, part);
        s->out_at += part + (newline != NULL);
        if (s->line.size > INPUT_LINE_MAX)
            return err_set(err, -EBADMSG, "%s: line %llu is longer than 16 MiB", s->name,
                           (unsigned long long)s->line_number + 1);
        if (newline)
            break;
    }
    s->line_number++;
    if (s->line.size && s->line.data[s->line.size - 1] == '\r')
        s->line.data[--s->line.size] = '\0';
    *line = s->line.data;
    if (memchr(*line, 0, s->line.size))
        return err_set(err, -EBADMSG, "%s: line %llu has a zero byte: this is no text", s->name,
                       (unsigned long long)s->line_number);
    return 1;
}
