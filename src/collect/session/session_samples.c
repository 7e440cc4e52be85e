/* CPU samples and page faults of a session: opens them at its start, reads the last at its end. */
#include <errno.h>

#include "collect/session/session_state.h"
#include "collect/session/process_end.h"

static bool session_is_paused(const struct session *s)
{
    return s->paused;
}

static struct target *session_first_target(const struct session *s)
{
    return s->targets.count ? s->targets.items[0] : NULL;
}

int session_open_samples(void *context, pid_t pid, struct err *err)
{
    struct session *s = context;
    const struct perf_options *o = &s->options->sampling;
    struct target none = {.pid = pid};
    if (!o->cpu_period_ns && !o->fault_period)
        return 0;
    const struct sampled_session asked = {.session = s,
                                          .program = pid,
                                          .all = s->options->all,
                                          .only = s->options->only,
                                          .no_follow = s->options->no_follow,
                                          .launcher = s->options->launcher,
                                          .find = session_target,
                                          .add = session_add_target,
                                          .end = session_end_target,
                                          .is_wanted = session_is_wanted,
                                          .is_paused = session_is_paused,
                                          .first = session_first_target,
                                          .drain = session_drain};
    s->samples = samples_new(&asked, o, err);
    if (!s->samples)
        return -EACCES;
    samples_count(&none);
    s->before = none.profile.sampling;
    return 0;
}

void session_finish_samples(struct session *s)
{
    if (s->samples) {
        samples_drain(s->samples, true);
        samples_count_lost(s->samples);
    }
    if (!s->options->all)
        return;
    if (s->targets.count && samples_unwatched(s->samples))
        *vec_push(&s->targets.items[0]->profile.notes) =
            xasprintf("%u processes could not be watched, or not all of their threads; raise the "
                      "limit on descriptors (ulimit -n)",
                      samples_unwatched(s->samples));
    for (size_t i = 0; i < s->live.count; i++) {
        samples_count(s->live.items[i]);
        samples_end(s->samples, s->live.items[i]);
        samples_settle(s->live.items[i]);
    }
}
