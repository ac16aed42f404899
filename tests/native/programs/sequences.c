/*
 * Restartable sequences are not there, and who would use them does without: libc, which registers
 * each thread if it can, and whoever asks the kernel itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *where(void *unused)
{
    cpu_set_t set;
    int processor = sched_getcpu();
    sched_getaffinity(0, sizeof set, &set);
    printf("a thread is %s\n", processor >= 0 && CPU_ISSET(processor, &set) ? "somewhere" : "lost");
    return unused;
}

int main(void)
{
    static _Alignas(32) char area[32];
    const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
    pthread_t thread;
    printf("libc has %u bytes\n", size ? *size : 0);
    long result = syscall(SYS_rseq, area, sizeof area, 0, 0x53053053);
    printf("registered: %s\n", result ? errno == ENOSYS ? "no such call" : "refused" : "yes");
    int barriers = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    int ready = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
    printf("barriers: %s, %s\n", barriers & MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ ? "yes" : "no",
           ready && errno == EINVAL ? "refused" : "ready");
    ready = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    printf("others: %s\n", ready ? "refused" : "ready");
    where(NULL);
    pthread_create(&thread, NULL, where, NULL);
    pthread_join(thread, NULL);
    return 0;
}
