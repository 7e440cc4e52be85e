#include "cli/live_recording.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "store/reader.h"

#define WAIT_MS 10

int live_recording_open(struct live_recording *l, struct err *err)
{
    const char *folder = getenv("TMPDIR");
    l->fd = -1;
    l->folder = xasprintf("%s/tidemark.XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(l->folder)) {
        int code =
            err_set(err, -errno, "cannot make a folder like %s: %s", l->folder, strerror(errno));
        free(l->folder);
        l->folder = NULL;
        return code;
    }
    l->file = xasprintf("%s/now.tide", l->folder);
    return 0;
}

void live_recording_close(struct live_recording *l)
{
    if (l->fd >= 0)
        close(l->fd);
    if (l->folder) {
        unlink(l->file);
        rmdir(l->folder);
    }
    free(l->file);
    free(l->folder);
    *l = (struct live_recording){.fd = -1};
}

static int explained(const struct live_recording *l, int code, const char *text, struct err *err)
{
    struct strbuf why = {0};
    conversation_explain(&l->with, code, "a look", text, &why);
    why.data[strcspn(why.data, "\n")] = '\0';
    err_set(err, code, "%s", why.data);
    strbuf_release(&why);
    return code == -ECONNREFUSED ? -EPIPE : code;
}

int live_recording_ask(struct live_recording *l, struct err *err)
{
    if (l->fd >= 0)
        return 0;
    l->fd = conversation_ask(&l->with, WIRE_LOOK, l->file);
    return l->fd < 0 ? explained(l, l->fd, "", err) : 0;
}

int live_recording_read(struct live_recording *l, struct recording **out, struct err *err)
{
    char text[WIRE_TEXT_MAX] = "";
    int code = conversation_answer(l->fd, text, sizeof text);
    l->fd = -1;
    if (code)
        return explained(l, code, text, err);
    code = recording_read(l->file, out, err);
    unlink(l->file);
    return code;
}

int live_recording_once(pid_t pid, bool (*goes_on)(unsigned ms), struct recording **out,
                        struct err *err)
{
    struct live_recording l = {.fd = -1};
    int code = conversation_begin(pid, &l.with, err);
    if (!code)
        code = live_recording_open(&l, err);
    if (!code)
        code = live_recording_ask(&l, err);
    struct pollfd answer = {.fd = l.fd, .events = POLLIN};
    while (!code && goes_on && poll(&answer, 1, 0) == 0)
        if (!goes_on(WAIT_MS))
            code = err_set(err, -EINTR, "interrupted");
    if (!code)
        code = live_recording_read(&l, out, err);
    live_recording_close(&l);
    return code;
}
