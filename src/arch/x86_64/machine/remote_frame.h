/*
 * remote_frame: a frame by which a thread restores itself. x86-64.
 *
 * It is what the kernel puts on a stack before it calls a signal handler: the return address, whose
 * code calls rt_sigreturn, and above it all registers. A thread that was made to call something
 * finds it on its stack: if its tracer is killed meanwhile, the thread continues where it was. A
 * system call that it waited in is restarted, except for those for which the kernel itself keeps
 * state (sleeping, poll): these end with EINTR.
 */
#ifndef TIDE_MACHINE_REMOTE_FRAME_H
#define TIDE_MACHINE_REMOTE_FRAME_H

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/user.h>
#include <ucontext.h>

#define REMOTE_RED_ZONE   128  /* bytes below the stack pointer that a function may use */
#define REMOTE_FRAME_MOST 4096 /* bytes */

#define REMOTE_STATE_MOST  2696 /* of the vectors: all except matrix registers, which come last */
#define REMOTE_STATE_WORDS 464  /* offset in the vectors: which parts they hold */
#define REMOTE_MAGIC_FIRST 0x46505853u
#define REMOTE_MAGIC_LAST  0x46505845u
#define REMOTE_MATRIX      (UINT64_C(3) << 17)
/* Flags that the kernel does not know: it leaves the alternate stack alone. */
#define REMOTE_NO_ALTSTACK 0x7fff

static inline void remote_frame_registers(const struct user_regs_struct *r, greg_t g[NGREG])
{
    const uint64_t values[] = {r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13,
                               r->r14, r->r15, r->rdi, r->rsi, r->rbp, r->rbx,
                               r->rdx, r->rax, r->rcx, r->rsp, r->rip, r->eflags};
    memcpy(g, values, sizeof values);
    g[REG_CSGSFS] = (greg_t)(r->cs | r->gs << 16 | r->fs << 32 | r->ss << 48);
    if ((int64_t)r->orig_rax < 0)
        return;
    switch ((int64_t)r->rax) {
    case -512: /* ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND: as it was */
    case -513:
    case -514:
        g[REG_RAX] = (greg_t)r->orig_rax;
        g[REG_RIP] -= 2;
        break;
    case -516: /* ERESTART_RESTARTBLOCK */
        g[REG_RAX] = -EINTR;
        break;
    default:
        break;
    }
}

/*
 * Fills `out`, which is to be written to *address, below `end`; *address is then the stack pointer
 * that a function expects. Returns the size; 0: not possible.
 */
static inline size_t remote_frame(const struct user_regs_struct *r, uint64_t mask,
                                  const char *vectors, size_t vectors_size, uint64_t returns_to,
                                  uint64_t end, char out[REMOTE_FRAME_MOST], uint64_t *address)
{
    ucontext_t u = {.uc_flags = 7}; /* vectors; and the stack's segment, as it is */
    uint32_t size =
        vectors_size < REMOTE_STATE_MOST ? (uint32_t)vectors_size : (uint32_t)REMOTE_STATE_MOST;
    uint32_t words[4], last = REMOTE_MAGIC_LAST;
    uint64_t held;
    if (vectors_size < 576)
        return 0;
    uint64_t state = (end - size - sizeof last) & ~UINT64_C(63);
    *address = ((state - sizeof u - 16) & ~UINT64_C(15)) + 8;
    size_t at = (size_t)(state - *address);
    u.uc_stack.ss_flags = REMOTE_NO_ALTSTACK;
    u.uc_mcontext.fpregs = (fpregset_t)(uintptr_t)state;
    remote_frame_registers(r, u.uc_mcontext.gregs);
    memcpy(&u.uc_sigmask, &mask, sizeof mask);
    memset(out, 0, REMOTE_FRAME_MOST);
    memcpy(out, &returns_to, sizeof returns_to);
    memcpy(out + sizeof returns_to, &u, sizeof u);
    memcpy(out + at, vectors, size);
    memcpy(&held, vectors + REMOTE_STATE_WORDS, sizeof held);
    held &= ~REMOTE_MATRIX;
    words[0] = REMOTE_MAGIC_FIRST;
    words[1] = size + (uint32_t)sizeof last;
    memcpy(words + 2, &held, sizeof held);
    memcpy(out + at + REMOTE_STATE_WORDS, words, sizeof words);
    memcpy(out + at + REMOTE_STATE_WORDS + sizeof words, &size, sizeof size);
    memcpy(out + at + size, &last, sizeof last);
    return at + size + sizeof last;
}

#endif
