/*
 * arch: what the unwinder must know of the machine. One header a machine; this one picks it.
 *
 * Each provides: the DWARF numbers of the registers that matter, ARCH_REGISTERS (how many are
 * tracked), ARCH_RETURN_SLOT (where a frame's return address is, from its CFA), ARCH_MACHINE
 * and ARCH_LOADER (by which its programs are known), arch_capture(); and for the recorder
 * arch_syscall(), arch_pause(), arch_prefetch_write().
 */
#ifndef TIDE_UNWIND_ARCH_H
#define TIDE_UNWIND_ARCH_H

#if defined(__x86_64__)
#include "unwind/arch_x86_64.h"
#else
#error "tidemark's unwinder knows x86-64 only; add src/unwind/arch_<machine>.h"
#endif

#endif
