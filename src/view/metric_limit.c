#include "view/metric_limit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_amount.h"
#include "base/strbuf.h"
#include "model/answer.h"
#include "model/combined_profile.h"

static bool parse_percent(const char *text, double *out)
{
    char *end;
    *out = decimal_parse(text, &end);
    end += strspn(end, " ");
    return end != text && strcmp(end, "%") == 0 && *out >= 0 && *out <= 1e9;
}

/* Metrics of time take 5s or 300ms, the others 64 KiB. */
static bool parse_amount(enum metric metric, const char *text, int64_t *out)
{
    double ns;
    if (!metric_is_time(metric))
        return amount_parse(text, out);
    if (!duration_parse(text, &ns) || !(ns >= 0 && ns < 9e18))
        return false;
    *out = (int64_t)ns;
    return true;
}

/* Fails with "'x' is not a metric with an amount", and examples. */
static int refuse(const char *text, bool time, struct err *err)
{
    return err_set(err, -EINVAL, "--limit '%s' is not a metric with an amount: %s", text,
                   time ? "'cpu 5s', 'cpu +5 %'" : "'peak 500 MiB', 'peak +5 %', 'live +64 KiB'");
}

int limit_parse(struct limit *l, const char *text, struct err *err)
{
    *l = (struct limit){.text = text};
    size_t word = strcspn(text, " +");
    char *name = xstrndup(text, word);
    const char *value = text + word + strspn(text + word, " ");
    int code = metric_parse(name, &l->metric, err);
    free(name);
    if (code)
        return refuse(text, false, err);
    l->more = *value == '+';
    value += l->more;
    value += strspn(value, " ");
    if (l->more && parse_percent(value, &l->percent))
        return 0;
    l->percent = 0;
    if (*value != '+' && parse_amount(l->metric, value, &l->amount))
        return 0;
    return refuse(text, metric_is_time(l->metric), err);
}

/* For all processes together: the one that grew need not be the largest. */
static int sum_of(struct recording *r, enum metric metric, int64_t *out, struct err *err)
{
    struct query q;
    struct answer a;
    query_init(&q);
    q.metric = metric;
    int code = 0;
    if (r->profiles.count > 1) {
        q.process = COMBINED_PROFILE_WORD;
        code = combined_profile_make(r, err);
    }
    if (!code)
        code = answer_query(&a, r, &q, err);
    if (!code) {
        *out = a.tree.sum.amount;
        answer_release(&a);
    }
    query_release(&q);
    return code;
}

int limit_judge(struct limit *l, bool has_before, int64_t before, int64_t after, struct err *err)
{
    if (l->more && !has_before)
        return err_set(err, -EINVAL, "--limit '%s' compares two recordings, and there is one only",
                       l->text);
    l->before = before;
    l->after = after;
    double allowed =
        l->more ? (double)l->before + (double)l->amount + fabs((double)l->before) * l->percent / 100
                : (double)l->amount;
    l->allowed = allowed < 9e18 ? (int64_t)floor(allowed) : INT64_MAX;
    l->broken = l->after > l->allowed;
    return 0;
}

int limit_check(struct limit *l, struct recording *before, struct recording *after, struct err *err)
{
    if (l->more && !before)
        return err_set(err, -EINVAL,
                       "--limit '%s' compares two recordings: tidemark view BEFORE AFTER", l->text);
    int64_t first = 0, last = 0;
    int code = before ? sum_of(before, l->metric, &first, err) : 0;
    if (!code)
        code = sum_of(after, l->metric, &last, err);
    return code ? code : limit_judge(l, before != NULL, first, last, err);
}

void limit_json(const struct limit *l, struct json *j)
{
    json_object(j, NULL);
    json_string(j, "limit", l->text);
    json_string(j, "metric", metric_name(l->metric));
    json_string(j, "unit", metric_is_time(l->metric) ? "ns" : "bytes");
    json_i64(j, "before", l->before);
    json_i64(j, "after", l->after);
    json_i64(j, "allowed", l->allowed);
    json_bool(j, "broken", l->broken);
    json_end(j);
}
