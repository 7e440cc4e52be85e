/*
 * locked: locks all its memory, what is mapped later too, then installs a filter that allows
 * everything. Tells by how much its shared memory has grown by that, in steps of 16 MiB.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "proc_status.h"

int main(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {.len = 1, .filter = &allow};
    mlockall(MCL_CURRENT | MCL_FUTURE);
    long before = status_mib("RssShmem:");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
        return 1;
    printf("%ld\n", (status_mib("RssShmem:") - before) / 16);
    return 0;
}
