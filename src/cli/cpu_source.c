#include "cli/cpu_source.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_amount.h"
#include "base/path.h"
#include "base/text.h"
#include "collect/session/executable.h"

#define TIMER_HZ 99 /* a signal costs more than a sample by the kernel */

bool cpu_hz_parse(const char *text, double *hz)
{
    char *end;
    *hz = decimal_parse(text, &end);
    return *text && !*end && *hz >= 1 && *hz <= 10000;
}

bool cpu_request_add(struct cpu_request *r, const char *value)
{
    r->asked = true;
    if (!value)
        return true;
    if (strcmp(value, "wall") == 0) {
        r->wall = true;
    } else if (strcmp(value, "timer") == 0) {
        r->source = CPU_TIMER;
    } else if (strcmp(value, "perf") == 0) {
        r->source = CPU_PERF;
    } else {
        return cpu_hz_parse(value, &r->hz);
    }
    return true;
}

bool cpu_request_signal(struct cpu_request *r, const char *value)
{
    char *end;
    long number = strtol(value, &end, 10);
    r->signal = (uint32_t)number;
    return isdigit((unsigned char)*value) && !*end && number >= 34 && number <= 64;
}

const char *cpu_request_conflict(const struct cpu_request *r, bool alone)
{
    if (r->source == CPU_TIMER && r->wall)
        return "--cpu=timer cannot be combined with --cpu=wall: timers do not see time off the "
               "processor";
    if (r->source == CPU_TIMER && alone)
        return "--cpu=timer needs the recorder in the program: it cannot be combined with "
               "--only-cpu, --only-faults or --all";
    if (r->signal && (!r->asked || r->source == CPU_PERF || alone))
        return "--cpu-signal is for --cpu=timer";
    return NULL;
}

/* Is it "python3", "python3.11-dbg", or a script for it? */
static bool is_python(const char *name)
{
    char *file = executable_find(name), *program = file ? executable_interpreter(file) : NULL;
    const char *base = program ? path_base(program) : "";
    bool python = text_begins(base, "python") && (!base[6] || isdigit((unsigned char)base[6]));
    free(program);
    free(file);
    return python;
}

static uint64_t period(const struct cpu_request *r, double usual)
{
    return (uint64_t)(1e9 / (r->hz ? r->hz : usual));
}

static void use_timers(const struct cpu_request *r, struct session_options *o)
{
    o->cpu_timer_ns = period(r, TIMER_HZ);
    o->cpu_signal = r->signal;
    o->sampling.cpu_period_ns = 0;
    o->sampling.wall = false;
}

int cpu_request_settle(const struct cpu_request *r, bool alone, struct session_options *o,
                       struct err *err)
{
    static struct err refused; /* the options refer to it */
    bool may_use_timers = r->asked && !alone && !r->wall && r->source != CPU_PERF;
    bool faults = o->sampling.fault_period;
    err->text[0] = '\0';
    if (r->asked) {
        o->sampling.cpu_period_ns = period(r, CPU_PERF_HZ);
        o->sampling.wall = r->wall;
    }
    if (may_use_timers && r->source == CPU_TIMER) {
        use_timers(r, o);
    } else if (may_use_timers && (r->signal || is_python(o->argv[0]))) {
        use_timers(r, o);
        if (!r->signal)
            err_set(err, 0,
                    "a Python program: CPU time is sampled by timers in it, with Python frames; "
                    "--cpu=perf uses perf events");
    }
    if ((!o->sampling.cpu_period_ns && !faults) || perf_check(&o->sampling, &refused) == 0)
        return 0;
    *err = refused;
    if (alone || (r->asked && r->source == CPU_PERF))
        return -EACCES;
    if (may_use_timers && !o->cpu_timer_ns) {
        use_timers(r, o);
        err_set(err, 0, "%s; CPU time is sampled by timers in the program (--cpu=timer)",
                refused.text);
    }
    if (!o->cpu_timer_ns || faults)
        o->sampling_refused = refused.text;
    o->sampling = (struct perf_options){0};
    return 0;
}
