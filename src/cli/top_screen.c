#include "cli/top_screen.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/top.h"
#include "base/clock.h"
#include "base/say.h"
#include "cli/terminal.h"

#define PLOT_LINES   4
#define PLOT_LEAST   16 /* lines that a screen must have for a plot */
#define REFRESH_COST 10 /* refreshing may take at most this part of the time */
#define LABEL_MAX    128

struct screen {
    struct top_options *options;
    struct live_recording *live;
    struct recording *recording;
    struct pattern_list within; /* of the command line; a filter replaces it */
    char filter[LABEL_MAX];
    size_t first; /* row at the top */
    bool held;    /* the screen is not refreshed */
    bool paused;  /* the recording is paused */
    bool ended;   /* there will be no more refreshes */
    bool help;
    char message[256];
    uint64_t next_refresh_ns;
    struct style style;
    sigset_t while_waiting; /* the signals that are blocked while waiting */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

static void tell(struct screen *s, const char *text)
{
    size_t size = strcspn(text, "\n");
    size = size < sizeof s->message - 1 ? size : sizeof s->message - 1;
    memcpy(s->message, text, size);
    s->message[size] = '\0';
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Resident memory over time, with the live heap below it, in the columns of the screen. */
static void draw_plot(const struct screen *s, const struct profile *p, int top, int width)
{
    uint64_t highest = 1, end = p->duration_ns ? p->duration_ns : 1;
    const char *full = s->style.utf8 ? "\u2588" : "#", *light = s->style.utf8 ? "\u2591" : ".";
    for (size_t i = 0; i < p->stamps.count; i++)
        highest = p->stamps.items[i].rss_bytes > highest ? p->stamps.items[i].rss_bytes : highest;
    struct strbuf scale = {0};
    say(&scale, "%B", highest);
    int left = (int)scale.size + 2;
    mvaddstr(top, 0, scale.data);
    mvaddstr(top + 1, 0, "RSS");
    mvaddstr(top + 2, 0, "live");
    mvaddstr(top + 1, 5, light);
    mvaddstr(top + 2, 5, full);
    size_t at = 0;
    for (int x = left; x < width; x++) {
        uint64_t time = (uint64_t)((double)(x - left + 1) / (width - left) * (double)end);
        while (at + 1 < p->stamps.count && p->stamps.items[at + 1].time_ns <= time)
            at++;
        for (int y = 0; p->stamps.count && y < PLOT_LINES; y++) {
            double level = (double)highest * (PLOT_LINES - y - 0.5) / PLOT_LINES;
            const struct stamp *stamp = &p->stamps.items[at];
            if ((double)stamp->live_bytes >= level)
                mvaddstr(top + y, x, full);
            else if ((double)stamp->rss_bytes >= level)
                mvaddstr(top + y, x, light);
        }
    }
    strbuf_release(&scale);
}

static const char *const help_lines[] = {
    "s          sort by the next column: live, growth, rate, temporary",
    "g          group by function, line, file, library, thread",
    "m          what is held: live, peak, total, mapped",
    "/          show only stacks with a function that matches (a regular expression; empty: all)",
    "up, down   scroll; also page up, page down, home",
    "space      pause the screen, or continue",
    "k          make a mark in the recording, with a label",
    "n          write a snapshot beside the recording",
    "l          scan for leaks now",
    "p          pause the recording of allocations, and resume it",
    "q          quit; the program and its recording continue",
    NULL};

static void draw_lines(const char *text, int from, int height, int width, size_t skip)
{
    int y = from;
    for (const char *line = text; *line && y < height;) {
        size_t size = strcspn(line, "\n");
        if (y > from && skip) { /* the titles stay */
            skip--;
        } else {
            if (y == from)
                attron(A_REVERSE);
            mvprintw(y, 0, "%-*.*s", y == from ? width : 0, (int)size, line);
            attroff(A_REVERSE);
            y++;
        }
        line += size + (line[size] == '\n');
    }
}

static void draw_keys(const struct screen *s, int y, int width)
{
    static const char keys[] = /* fits into 80 columns */
        "q quit s sort g group m metric / filter k mark n snapshot l leaks p pause ? help";
    attron(A_REVERSE);
    mvprintw(y, 0, "%-*.*s", width, width, *s->message ? s->message : keys);
    attroff(A_REVERSE);
}

static void draw_state(const struct screen *s, int y)
{
    struct strbuf b = {0};
    const struct query *q = &s->options->query.query;
    say(&b, "by %s, sorted by %s", grouping_name(q->by), top_sort_name(s->options->sort));
    if (*s->filter)
        say(&b, ", only /%s/", s->filter);
    if (s->paused)
        strbuf_puts(&b, ", recording paused");
    if (s->ended)
        strbuf_puts(&b, ", the program has ended");
    else if (s->held)
        strbuf_puts(&b, ", held");
    mvaddstr(y, 0, b.data);
    strbuf_release(&b);
}

static void draw(struct screen *s)
{
    int height, width, y = 0;
    getmaxyx(stdscr, height, width);
    erase();
    s->style.width = (size_t)width;
    struct err err = {{0}};
    struct top t;
    int code = top_query(&t, s->recording, &s->options->query.query, s->options->window_ns,
                         s->options->sort, &err);
    if (s->help) {
        for (; help_lines[y] && y < height - 1; y++)
            mvaddstr(y, 0, help_lines[y]);
    } else if (code) {
        mvaddnstr(0, 0, err.text, width);
    } else {
        struct strbuf text = {0};
        top_heading(&t, &text);
        for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
            mvaddnstr(y++, 0, line, width);
        if (height >= PLOT_LEAST) {
            draw_plot(s, t.answers[TOP_ASK_HELD].profile, y, width);
            y += PLOT_LINES;
        }
        draw_state(s, y++);
        struct strbuf table = {0};
        struct document d = top_document(&t);
        if (s->first >= t.rows.count)
            s->first = t.rows.count ? t.rows.count - 1 : 0;
        rows_text(&d.rows, &s->style, &table);
        if (table.size)
            draw_lines(table.data, y, height - 1, width, s->first);
        strbuf_release(&table);
        strbuf_release(&text);
    }
    if (!code)
        top_release(&t);
    draw_keys(s, height - 1, width);
    refresh();
}

/* --- keys ------------------------------------------------------------------------------------- */

/* The next key; ERR: there is none, or while waiting for one a signal came or the terminal went
 * away. */
static int pressed(struct screen *s, bool wait)
{
    struct pollfd on = {.fd = STDIN_FILENO, .events = POLLIN};
    timeout(0);
    int key = getch();
    while (key == ERR && wait && !interrupted) {
        if (ppoll(&on, 1, NULL, &s->while_waiting) > 0 && !(on.revents & POLLIN))
            break;
        key = getch();
    }
    return key;
}

/* Reads a line of text at the bottom; false: the user cancelled. */
static bool ask_for(struct screen *s, const char *what, char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (;;) {
        snprintf(s->message, sizeof s->message, "%s: %s_  (Enter, or Esc)", what, out);
        draw_keys(s, LINES - 1, COLS);
        refresh();
        int key = pressed(s, true);
        s->message[0] = '\0';
        if (key == 27 || key == ERR)
            return false;
        if (key == '\n' || key == '\r' || key == KEY_ENTER)
            return true;
        if ((key == KEY_BACKSPACE || key == 127 || key == 8) && n > 0)
            out[--n] = '\0';
        else if (key >= ' ' && key < 127 && n + 1 < size) {
            out[n++] = (char)key;
            out[n] = '\0';
        }
    }
}

/* Sends a request to the recording; its answer becomes the message. */
static bool request(struct screen *s, enum wire_request_kind kind, const char *text,
                    const char *done)
{
    char answer[WIRE_TEXT_MAX] = "";
    if (!s->live || s->ended) {
        tell(s, "this recording does not run any more");
        return false;
    }
    tell(s, "waiting for the collector");
    draw_keys(s, LINES - 1, COLS);
    refresh();
    int fd = ctl_client_ask(&s->live->with, kind, text);
    int code = fd < 0 ? fd : ctl_client_answer(fd, answer, sizeof answer, NULL);
    if (code) {
        struct strbuf why = {0};
        ctl_client_explain(&s->live->with, code, "what the key asks for", answer, &why);
        tell(s, why.data);
        strbuf_release(&why);
        return false;
    }
    tell(s, *answer ? answer : done);
    return true;
}

static void make_mark(struct screen *s)
{
    char label[LABEL_MAX];
    if (ask_for(s, "label of the mark", label, sizeof label) && *label)
        request(s, WIRE_MARK, label, "marked this moment");
}

/* If the filter is empty, the command line's --within applies again. */
static void set_filter(struct screen *s)
{
    char text[LABEL_MAX];
    struct err err;
    struct pattern_list list = {0};
    struct pattern_list *within = &s->options->query.query.filter.within;
    if (!ask_for(s, "only stacks with a function that matches", text, sizeof text))
        return;
    if (*text && pattern_list_add(&list, text, "the filter", &err)) {
        tell(s, err.text);
        return;
    }
    if (*s->filter)
        pattern_list_release(within);
    *within = *text ? list : s->within;
    strcpy(s->filter, text);
    s->first = 0;
}

static void next_metric(struct query *q)
{
    static const enum metric order[] = {METRIC_LIVE, METRIC_PEAK, METRIC_TOTAL, METRIC_MAPPED};
    size_t at = 0, count = sizeof order / sizeof *order;
    while (at + 1 < count && order[at] != q->metric)
        at++;
    q->metric = order[(at + 1) % count];
}

static void next_grouping(struct query *q)
{
    static const enum grouping order[] = {BY_FUNCTION, BY_LINE, BY_FILE, BY_LIBRARY, BY_THREAD};
    size_t at = 0, count = sizeof order / sizeof *order;
    while (at + 1 < count && order[at] != q->by)
        at++;
    q->by = order[(at + 1) % count];
}

static void scroll_by(struct screen *s, int lines)
{
    s->first = lines < 0 && s->first < (size_t)-lines ? 0 : s->first + (size_t)lines;
}

/* false: the user quits. */
static bool press(struct screen *s, int key)
{
    struct query *q = &s->options->query.query;
    bool helped = s->help;
    s->message[0] = '\0';
    s->help = false;
    switch (key) {
    case 'q':
        return helped; /* the first key only closes the help */
    case '?':
    case 'h':
        s->help = !helped;
        break;
    case 's':
        s->options->sort = (s->options->sort + 1) % TOP_SORTS;
        break;
    case 'g':
        next_grouping(q);
        s->first = 0;
        break;
    case 'm':
        next_metric(q);
        break;
    case '/':
        set_filter(s);
        break;
    case ' ':
        s->held = !s->held;
        break;
    case 'k':
        make_mark(s);
        break;
    case 'n':
        request(s, WIRE_SNAPSHOT, "", "a snapshot was written");
        break;
    case 'l':
        request(s, WIRE_SCAN, "", "");
        break;
    case 'p':
        if (request(s, s->paused ? WIRE_RESUME : WIRE_PAUSE, "",
                    s->paused ? "allocations are recorded again"
                              : "paused: allocations are not recorded, frees are"))
            s->paused = !s->paused;
        break;
    case KEY_DOWN:
    case KEY_NPAGE:
        scroll_by(s, key == KEY_DOWN ? 1 : LINES / 2);
        break;
    case KEY_UP:
    case KEY_PPAGE:
        scroll_by(s, key == KEY_UP ? -1 : -(LINES / 2));
        break;
    case KEY_HOME:
        s->first = 0;
        break;
    default:
        break;
    }
    return true;
}

/* --- the loop --------------------------------------------------------------------------------- */

/* The time counts from the request, so that it includes the collector's work. */
static void take_state(struct screen *s)
{
    struct recording *r = NULL;
    struct err err = {{0}};
    int code = top_read(s->options, s->live, &r, &err);
    if (code) {
        tell(s, err.text);
        s->ended = code == -EPIPE;
    } else {
        recording_free(s->recording);
        s->recording = r;
    }
    uint64_t now = monotonic_ns(), cost = (now - s->live->asked_ns) * REFRESH_COST;
    s->next_refresh_ns = now + (cost > s->options->refresh_ns ? cost : s->options->refresh_ns);
}

/* Waits for a key, an answer, a signal, or the time of the next refresh. false: the terminal went
 * away. */
static bool wait_for_something(struct screen *s)
{
    bool refreshes = s->live && !s->ended && !s->held;
    uint64_t now = monotonic_ns();
    struct pollfd on[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = refreshes ? s->live->fd : -1, .events = POLLIN}};
    struct timespec wait = {0}, *until = NULL;
    if (refreshes && s->live->fd < 0) {
        uint64_t left = now < s->next_refresh_ns ? s->next_refresh_ns - now : 0;
        wait = (struct timespec){(time_t)(left / 1000000000), (long)(left % 1000000000)};
        until = &wait;
    }
    if (ppoll(on, 2, until, &s->while_waiting) < 0)
        on[0].revents = on[1].revents = 0;
    if (on[0].revents & (POLLHUP | POLLERR | POLLNVAL))
        return false;
    if (on[1].revents)
        take_state(s);
    else if (refreshes && s->live->fd < 0 && monotonic_ns() >= s->next_refresh_ns) {
        struct err err = {{0}};
        if (live_recording_ask(s->live, &err)) {
            tell(s, err.text);
            s->ended = true;
        }
    }
    return true;
}

/* Signals are delivered only while we wait, so that none is missed between a test and the wait.
 * SIGWINCH belongs to curses. */
static void hold_signals(struct screen *s)
{
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        sigaction(taken[i], &action, NULL);
        sigaddset(&held, taken[i]);
    }
    sigprocmask(SIG_BLOCK, &held, &s->while_waiting);
}

int top_screen(struct top_options *o, struct live_recording *live, struct recording *recording,
               struct err *err)
{
    struct screen s = {.options = o,
                       .live = live,
                       .recording = recording,
                       .within = o->query.query.filter.within,
                       .next_refresh_ns = monotonic_ns() + o->refresh_ns,
                       .style = style_of_stdout()};
    s.style.colour = false;
    setlocale(LC_CTYPE, "");
    SCREEN *terminal = newterm(NULL, stdout, stdin);
    if (!terminal) {
        recording_free(recording);
        return err_set(err, -ENOTTY,
                       "the terminal '%s' is not known; set TERM, or use tidemark top --once",
                       getenv("TERM") ? getenv("TERM") : "");
    }
    hold_signals(&s);
    set_escdelay(50);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    bool is_shown = true;
    while (is_shown && !interrupted) {
        draw(&s);
        is_shown = wait_for_something(&s);
        for (int key; is_shown && (key = pressed(&s, false)) != ERR;)
            if (key != KEY_RESIZE)
                is_shown = press(&s, key);
    }
    endwin();
    delscreen(terminal);
    if (*s.filter) {
        pattern_list_release(&o->query.query.filter.within);
        o->query.query.filter.within = s.within;
    }
    recording_free(s.recording);
    return interrupted && interrupted != SIGINT ? 128 + interrupted : 0;
}
