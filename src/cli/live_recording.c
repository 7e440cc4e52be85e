#include "cli/live_recording.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "store/reader.h"

#define WAIT_MS 10

void live_recording_close(struct live_recording *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

static int explained(const struct live_recording *l, int code, const char *text, struct err *err)
{
    struct strbuf why = {0};
    ctl_client_explain(&l->with, code, "reading the state", text, &why);
    why.data[strcspn(why.data, "\n")] = '\0';
    err_set(err, code, "%s", why.data);
    strbuf_release(&why);
    return code;
}

int live_recording_ask(struct live_recording *l, struct err *err)
{
    if (l->fd >= 0)
        return 0;
    l->asked_ns = monotonic_ns();
    l->fd = ctl_client_ask(&l->with, WIRE_LOOK, "");
    return l->fd < 0 ? explained(l, l->fd, "", err) : 0;
}

int live_recording_take(struct live_recording *l, char path[LIVE_RECORDING_PATH], struct err *err)
{
    char text[WIRE_TEXT_MAX] = "";
    int memory = -1;
    int code = ctl_client_answer(l->fd, text, sizeof text, &memory);
    l->fd = -1;
    if (!code && memory < 0)
        code = -EPIPE;
    if (code)
        return explained(l, code, text, err);
    snprintf(path, LIVE_RECORDING_PATH, "/proc/self/fd/%d", memory);
    return memory;
}

int live_recording_read(pid_t pid, bool (*keeps_waiting)(unsigned ms), struct recording **out,
                        struct err *err)
{
    struct live_recording l = {.fd = -1};
    char path[LIVE_RECORDING_PATH];
    int code = ctl_client_begin(pid, &l.with, err);
    if (!code)
        code = live_recording_ask(&l, err);
    struct pollfd answer = {.fd = l.fd, .events = POLLIN};
    while (!code && keeps_waiting && poll(&answer, 1, 0) == 0)
        if (!keeps_waiting(WAIT_MS))
            code = err_set(err, -EINTR, "interrupted");
    int memory = code ? -1 : live_recording_take(&l, path, err);
    if (!code)
        code = memory < 0 ? memory : recording_read(path, out, err);
    if (memory >= 0)
        close(memory);
    live_recording_close(&l);
    return code;
}
