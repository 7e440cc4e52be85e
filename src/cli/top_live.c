#include "cli/top_live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "store/reader.h"

int top_live_open(struct top_live *l, struct err *err)
{
    const char *folder = getenv("TMPDIR");
    l->fd = -1;
    l->folder = xasprintf("%s/tidemark-top.XXXXXX", folder && *folder ? folder : "/tmp");
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

void top_live_close(struct top_live *l)
{
    if (l->fd >= 0)
        close(l->fd);
    if (l->folder) {
        unlink(l->file);
        rmdir(l->folder);
    }
    free(l->file);
    free(l->folder);
    *l = (struct top_live){.fd = -1};
}

static int explained(const struct top_live *l, int code, const char *text, struct err *err)
{
    struct strbuf why = {0};
    conversation_explain(&l->with, code, "a look", text, &why);
    why.data[strcspn(why.data, "\n")] = '\0';
    err_set(err, code, "%s", why.data);
    strbuf_release(&why);
    return code == -ECONNREFUSED ? -EPIPE : code;
}

int top_live_ask(struct top_live *l, struct err *err)
{
    if (l->fd >= 0)
        return 0;
    l->fd = conversation_ask(&l->with, WIRE_LOOK, l->file);
    return l->fd < 0 ? explained(l, l->fd, "", err) : 0;
}

int top_live_read(struct top_live *l, struct recording **out, struct err *err)
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
