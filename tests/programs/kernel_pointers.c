/*
 * Blocks that only the kernel points to: what was registered with epoll, the value of a timer, and
 * the signal stacks of the first thread and of another one. Blocks are told apart by their sizes.
 * "removed": they are given to the kernel, and taken back.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "scan_blocks.h"

#define STACK_SIZE 65536

static int removed, gate[2], ready[2];

static void must(int holds)
{
    if (!holds)
        _exit(1);
}

SITE static void register_with_epoll(void)
{
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = block(3001)};
    must(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, gate[0], &event) == 0);
    /* A pointer into the middle of another one. */
    event.data.ptr = (char *)block(3002) + 40;
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, ready[0], &event) == 0);
    event.data.ptr = NULL;
    if (removed)
        must(epoll_ctl(epoll, EPOLL_CTL_MOD, gate[0], &event) == 0 &&
             epoll_ctl(epoll, EPOLL_CTL_DEL, ready[0], NULL) == 0);
}

SITE static void make_timer(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    event.sigev_value.sival_ptr = block(3003);
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    if (removed)
        must(timer_delete(timer) == 0);
}

SITE static void set_signal_stack(size_t size)
{
    stack_t stack = {.ss_sp = block(size), .ss_size = size};
    must(sigaltstack(&stack, NULL) == 0);
    stack = (stack_t){.ss_flags = SS_DISABLE};
    if (removed)
        must(sigaltstack(&stack, NULL) == 0);
}

static void *wait_with_signal_stack(void *unused)
{
    char byte = 0;
    set_signal_stack(STACK_SIZE + 5);
    clear_stack();
    must(write(ready[1], &byte, 1) == 1);
    must(read(gate[0], &byte, 1) == 1);
    return unused;
}

SITE static void do_all(void)
{
    register_with_epoll();
    make_timer();
    set_signal_stack(STACK_SIZE + 4);
    known_sink = block(3009); /* lost in any case */
    known_sink = NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char byte;
    removed = argc > 1 && strcmp(argv[1], "removed") == 0;
    must(pipe(gate) == 0 && pipe(ready) == 0);
    must(pthread_create(&thread, NULL, wait_with_signal_stack, NULL) == 0);
    must(read(ready[0], &byte, 1) == 1);
    do_all();
    clear_stack();
    return 0;
}
