/* The recorder's global state: the shared memory, and the connection to the collector. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "record/attach.h"
#include "record/gpu.h"
#include "record/other_names.h"
#include "record/libc.h"
#include "record/loaded_file.h"
#include "record/next_functions.h"
#include "record/patch.h"
#include "record/stack_tree.h"
#include "record/python.h"
#include "record/recorder.h"
#include "record/routes.h"

struct recorder recorder = {.sizes_unverified = true};

#define PATIENCE_S 3 /* how long a program waits that prefers losing events */

static char socket_name[sizeof(((struct sockaddr_un *)0)->sun_path)];
static char socket_key[WIRE_KEY_SIZE + 1];
static bool drops; /* the program prefers losing events to waiting */
static const struct timeval patience = {.tv_sec = PATIENCE_S};

/* The shared memory mapped so far: the header's and further rings'. A forked child unmaps it. */
static struct segment {
    char *start;
    size_t size;
    uint32_t rings, used;
    size_t rings_offset;
} segments[64];
static unsigned segment_count;

/* --- talking to the collector ----------------------------------------------------------------- */

bool recorder_set_collector(const char *name, const char *key, bool prefers_loss)
{
    if (strlen(name) >= sizeof socket_name - 1 || strlen(key) != WIRE_KEY_SIZE)
        return false;
    memcpy(socket_name, name, strlen(name) + 1);
    memcpy(socket_key, key, WIRE_KEY_SIZE);
    drops = prefers_loss;
    return true;
}

/* Connects. Returns a descriptor, or a negative errno. */
static int dial(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(socket_name);
    memcpy(address.sun_path + 1, socket_name, size); /* abstract: no file, works after chroot */
    long fd = sys_call(SYS_socket, (long)AF_UNIX, (long)(SOCK_SEQPACKET | SOCK_CLOEXEC), 0L);
    if (fd < 0)
        return (int)fd;
    if (drops) /* nor for a collector that accepts no more connections */
        sys_call(SYS_setsockopt, fd, (long)SOL_SOCKET, (long)SO_SNDTIMEO, &patience,
                 sizeof patience);
    long connected;
    do
        connected = sys_call(SYS_connect, fd, &address,
                             (long)(offsetof(struct sockaddr_un, sun_path) + 1 + size));
    while (connected == -EINTR);
    if (connected < 0) {
        sys_call(SYS_close, fd);
        return (int)connected;
    }
    return (int)fd;
}

bool recorder_collector_alive(void)
{
    int fd = dial();
    if (fd >= 0)
        sys_call(SYS_close, (long)fd);
    return fd != -ECONNREFUSED; /* lack of a descriptor, say, does not mean that it is gone */
}

/* The answer: the reply, and after it what was asked for. */
struct answer {
    struct wire_reply reply;
    union {
        struct wire_function functions[WIRE_FUNCTIONS_MAX];
        struct wire_figures figures;
    };
};

static char *first_accounts; /* as they are mapped at the start; NULL: they are not */

static void map_accounts(const struct wire_header *h, int fd)
{
    first_accounts = sys_map_shared(fd, wire_accounts_bytes(0), h->accounts_offset);
}

static void map_hello(char *memory, int fd)
{
    map_accounts((struct wire_header *)memory, fd);
    routes_share(memory, fd);
}

/* Sends a request and maps the memory that comes back; NULL: refused, none, or no collector.
 * `room`: for the reply and what follows it. */
static char *converse(int fd, struct wire_request *request, const char *text,
                      struct wire_reply *reply, size_t room, bool *cut_short)
{
    char *memory = NULL;
    request->magic = WIRE_MAGIC;
    request->version = WIRE_VERSION;
    request->thread = (uint32_t)sys_call(SYS_gettid);
    request->thread_pointer = (uintptr_t)__builtin_thread_pointer();
    memcpy(request->key, socket_key, WIRE_KEY_SIZE);

    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec out[2] = {{.iov_base = request, .iov_len = sizeof *request},
                           {.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)}};
    struct iovec in = {.iov_base = reply, .iov_len = room};
    struct msghdr send = {.msg_iov = out, .msg_iovlen = 2};
    struct msghdr receive = {
        .msg_iov = &in, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    long n;
    if (request->kind == WIRE_LEFT_OUT || request->kind == WIRE_BOUND ||
        (drops && request->kind != WIRE_SNAPSHOT))
        sys_call(SYS_setsockopt, (long)fd, (long)SOL_SOCKET, (long)SO_RCVTIMEO, &patience,
                 sizeof patience); /* the program must not wait for a slow collector */
    do
        n = sys_call(SYS_sendmsg, (long)fd, &send, (long)MSG_NOSIGNAL);
    while (n == -EINTR);
    if (n == (long)(out[0].iov_len + out[1].iov_len))
        do
            n = sys_call(SYS_recvmsg, (long)fd, &receive, (long)MSG_CMSG_CLOEXEC);
        while (n == -EINTR);
    *cut_short = n == (long)sizeof *reply && receive.msg_flags & MSG_CTRUNC;
    if (n < (long)sizeof *reply || receive.msg_flags & MSG_TRUNC ||
        n < (long)(sizeof *reply + reply->size * (room > sizeof *reply)))
        reply->count = 0;
    struct cmsghdr *c = n == (long)sizeof *reply ? CMSG_FIRSTHDR(&receive) : NULL;
    if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int))) {
        int memory_fd;
        memcpy(&memory_fd, CMSG_DATA(c), sizeof memory_fd);
        if (reply->status == 0) {
            memory = sys_map_shared(memory_fd, reply->size, 0);
            if (memory && request->kind == WIRE_HELLO)
                map_hello(memory, memory_fd);
        }
        sys_call(SYS_close, (long)memory_fd);
    }
    sys_call(SYS_close, (long)fd);
    return memory;
}

/*
 * Two descriptors are needed for a moment. If the program has none left, its soft limit is raised
 * for that moment, if the hard one allows.
 */
static char *ask_for(struct wire_request *request, const char *text, struct wire_reply *reply,
                     size_t room)
{
    struct rlimit limit, more;
    bool cut_short = false;
    int fd = dial();
    char *memory = fd >= 0 ? converse(fd, request, text, reply, room, &cut_short) : NULL;
    if ((fd != -EMFILE && !cut_short) ||
        sys_call(SYS_prlimit64, 0L, (long)RLIMIT_NOFILE, 0L, &limit) < 0 ||
        limit.rlim_cur == limit.rlim_max)
        return memory;
    more = (struct rlimit){limit.rlim_max, limit.rlim_max};
    sys_call(SYS_prlimit64, 0L, (long)RLIMIT_NOFILE, &more, 0L);
    fd = dial();
    memory = fd >= 0 ? converse(fd, request, text, reply, room, &cut_short) : NULL;
    sys_call(SYS_prlimit64, 0L, (long)RLIMIT_NOFILE, &limit, 0L);
    return memory;
}

static char *ask(struct wire_request *request, const char *text, struct wire_reply *reply)
{
    return ask_for(request, text, reply, sizeof *reply);
}

unsigned recorder_functions(const char *path, struct wire_function out[WIRE_FUNCTIONS_MAX])
{
    struct wire_request request = {.kind = WIRE_FUNCTIONS};
    struct answer answer = {.reply = {.status = -EIO}};
    if (strlen(path) >= WIRE_TEXT_MAX)
        return 0;
    ask_for(&request, path, &answer.reply, sizeof answer);
    if (answer.reply.status || answer.reply.count > WIRE_FUNCTIONS_MAX)
        return 0;
    memcpy(out, answer.functions, answer.reply.count * sizeof *out);
    return answer.reply.count;
}

void recorder_left_alone(const char *path, uint64_t number, enum wire_left why)
{
    struct wire_request request = {
        .kind = WIRE_LEFT_ALONE, .function = (uint32_t)number, .reason = (uint32_t)why};
    struct wire_reply reply;
    if (strlen(path) < WIRE_TEXT_MAX)
        ask(&request, path, &reply);
}

int recorder_snapshot(const char *path, const struct wire_held *held)
{
    struct wire_request request = {.kind = WIRE_SNAPSHOT, .held = *held};
    struct wire_reply reply = {.status = -EIO};
    ask(&request, path, &reply);
    return reply.status;
}

int recorder_figures(bool restart, struct wire_figures *out)
{
    struct wire_request request = {.kind = WIRE_FIGURES, .restart_peak = restart};
    struct answer answer = {.reply = {.status = -EIO}};
    ask_for(&request, "", &answer.reply, sizeof answer);
    if (answer.reply.status || answer.reply.count != 1)
        return answer.reply.status ? answer.reply.status : -EIO;
    *out = answer.figures;
    return 0;
}

void recorder_bound(const char *path, bool missed)
{
    struct wire_request request = {.kind = WIRE_BOUND, .missed_before = missed};
    struct wire_reply reply;
    ask(&request, path, &reply);
}

void recorder_left_out(const char *path, enum wire_out why)
{
    struct wire_request request = {.kind = WIRE_LEFT_OUT, .reason = (uint32_t)why};
    struct wire_reply reply;
    ask(&request, path, &reply);
}

void recorder_python_ends(void)
{
    struct wire_request request = {.kind = WIRE_PYTHON_ENDS};
    struct wire_reply reply;
    ask(&request, "", &reply);
}

enum wire_end recorder_exiting(enum wire_exit what, uint64_t stack, const struct wire_held *held)
{
    struct wire_request request = {.kind = WIRE_EXITING,
                                   .exit = (uint32_t)what,
                                   .python_ended = what != WIRE_EXIT_PYTHON && python_has_ended(),
                                   .stack = stack,
                                   .held = *held};
    struct wire_reply reply = {.status = -EIO};
    ask(&request, "", &reply);
    if (reply.status == 0)
        return WIRE_END_ASKED;
    int fd = dial(); /* why not? */
    if (fd >= 0)
        sys_call(SYS_close, (long)fd);
    return fd == -EMFILE || fd == -ENFILE ? WIRE_END_DESCRIPTORS : WIRE_END_NO_ANSWER;
}

/* After fork: unmaps the parent's memory except the header, which is returned. */
static struct wire_header *drop_segments(void)
{
    if (!segment_count)
        return NULL;
    for (unsigned i = 0; i < segment_count; i++) {
        size_t kept = i == 0 ? WIRE_PAGE : 0;
        sys_call(SYS_munmap, segments[i].start + kept, segments[i].size - kept);
    }
    segment_count = 0;
    stack_tree_drop();
    accounts_drop();
    return (void *)segments[0].start;
}

static struct {
    uint64_t start, size;
} own[WIRE_OWN]; /* kept for children, which inherit it */
static _Atomic unsigned own_count;

void recorder_own(const void *start, size_t size)
{
    unsigned i = start ? atomic_fetch_add(&own_count, 1) : WIRE_OWN;
    if (i >= WIRE_OWN)
        return;
    own[i].start = (uint64_t)(uintptr_t)start;
    own[i].size = size;
    if (recorder.header)
        wire_own_set(&recorder.header->own[i], own[i].start, own[i].size);
}

/* Maps the rules, or empties them, so that modules are reported in the new memory. In a forked
 * child the kernel does that without copying the parent's pages. */
static void forget_rules(void)
{
    if (!recorder.rules)
        recorder_own(recorder.rules = sys_map(sizeof *recorder.rules), sizeof *recorder.rules);
    else if (sys_call(SYS_madvise, recorder.rules->cache, sizeof recorder.rules->cache,
                      (long)MADV_DONTNEED) < 0)
        rules_forget(recorder.rules);
}

bool recorder_connect(void)
{
    struct wire_request request = {.kind = WIRE_HELLO, .parent = recorder.pid, .fork = tls.fork};
    struct wire_reply reply = {.status = 0};
    struct rlimit limit;
    struct wire_header *parents = drop_segments();
    if (recorder.pid) {
        allocator_forked(tls.fork && tls.fork_prepared);
        routes_forked();
    }
    tls.fork = 0;
    exit_forget();
    atomic_store(&recorder.forks, 0);
    recorder.header = NULL;
    recorder.pid = request.pid_inside = (uint32_t)sys_call(SYS_getpid);
    if (parents)
        request.first_era = (uint32_t)atomic_load(&parents->moment) + 1;
    if (parents && request.parent)
        request.parent = parents->pid;
    if (sys_call(SYS_prlimit64, 0L, (long)RLIMIT_AS, 0L, &limit) == 0)
        request.limited_space = limit.rlim_cur < UINT64_C(4) << 30;
    uint64_t asked_ns = sys_own_clock_ns();
    char *memory = ask(&request, "", &reply);
    struct wire_header *h = (void *)memory;
    if (parents) {
        if (!memory && reply.status == 0)
            /* We could not ask: the parent will report it. */
            atomic_fetch_add(&parents->unfollowed, 1);
        sys_call(SYS_munmap, parents, (long)WIRE_PAGE);
    }
    if (!memory || h->magic != WIRE_MAGIC || h->version != WIRE_VERSION) {
        recorder_stop();
        return false;
    }
    sys_match_clock(asked_ns, h->clock_ns);
    forget_rules();
    if (!recorder.rules || !stack_tree_reset(h) || !modules_reset() || !sample_reset(h) ||
        !accounts_reset(h, first_accounts) || h->first_era < request.first_era) {
        recorder_stop();
        return false;
    }
    recorder.header = h;
    segments[0] = (struct segment){memory, reply.size, h->ring_count, 0, h->rings_offset};
    segment_count = 1;
    recorder.python_memory = memory + h->python_offset;
    recorder.python_size = h->python_size;
    python_reset();
    pools_reset();
    patch_forked();
    gpu_reset();
    own_malloc_take_over();
    other_names_take_over();
    if (recorder.late)
        attach_take_over();
    atomic_store(&h->entries_taken, (own_malloc_taken_over() ? WIRE_TAKEN_MALLOC : 0u) |
                                        (other_names_taken_over() ? WIRE_TAKEN_OTHER_NAMES : 0u));
    allocator_find();
    /* glibc keeps 8 bytes between the usable parts of two blocks. */
    bool of_libc = !own_malloc_taken_over() && !other_names_taken_over() &&
                   same_module(&next.malloc_usable_size, &next.getenv);
    index_set_spacing(of_libc ? 8 : 0);
    if (of_libc)
        chunk_try(next.malloc_usable_size);
    mark_on_start();
    routes_begin();
    for (unsigned i = 0; i < WIRE_OWN; i++)
        wire_own_set(&h->own[i], own[i].start, own[i].size);
    atomic_store_explicit(&recorder.state, STATE_LIVE, memory_order_release);
    return true;
}

uint32_t recorder_rings_left(void)
{
    const struct segment *s = segment_count ? &segments[segment_count - 1] : NULL;
    return s ? s->rings - s->used : 0;
}

/* Called with the lock of thread.c. A thread that was refused asks again when the tick has
 * advanced. */
struct wire_ring *recorder_ring(void)
{
    static uint32_t denied;
    uint32_t tick = atomic_load_explicit(&recorder.header->tick, memory_order_relaxed);
    if (denied == tick)
        return NULL;
    struct segment *s = &segments[segment_count - 1];
    if (s->used == s->rings) {
        if (segment_count == sizeof segments / sizeof *segments)
            return NULL;
        struct wire_request request = {.kind = WIRE_MORE_RINGS, .ring_count = s->rings};
        if (segment_count > 2 && s->rings < 256)
            request.ring_count *= 2;
        struct wire_reply reply;
        char *memory = ask(&request, "", &reply);
        if (!memory) {
            denied = tick;
            return NULL;
        }
        *++s = (struct segment){memory, reply.size, reply.count, 0, 0};
        segment_count++;
    }
    /* Before anything is written into it: the collector reads no others. */
    atomic_fetch_add_explicit(&recorder.header->rings_used, 1, memory_order_release);
    return (void *)(s->start + s->rings_offset + (size_t)s->used++ * WIRE_RING_BYTES);
}

void recorder_stop(void)
{
    atomic_store(&recorder.state, STATE_OFF);
    recorder.hand_on = false;
    routes_off();
    if (recorder.header)
        wire_move_tick(recorder.header); /* so that every thread notices */
}

void recorder_leave(void)
{
    atomic_store(&recorder.state, STATE_OFF);
    threads_leave();
    struct wire_header *h = drop_segments();
    if (h)
        sys_call(SYS_munmap, h, (long)WIRE_PAGE);
    recorder.header = NULL;
    recorder.pid = 0; /* the next process is not our child */
    index_clear();
}
