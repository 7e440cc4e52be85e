/* What the kernel tells of processes that are not our children; here they are. */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/proc/descendants.h"

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* Until /proc shows the process in this state. */
static void await_state(pid_t pid, char state)
{
    char path[64], text[256], shown = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    while (shown != state) {
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        size_t n = fread(text, 1, sizeof text - 1, f);
        fclose(f);
        text[n] = '\0';
        shown = strrchr(text, ')')[2];
        usleep(1000);
    }
}

static void test_runs(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        sleep_on(NULL);
    assert_true(descendants_runs(getpid()));
    assert_true(descendants_runs(pid));
    kill(pid, SIGKILL);
    await_state(pid, 'Z');
    assert_int_equal(kill(pid, 0), 0);
    assert_false(descendants_runs(pid));
    waitpid(pid, NULL, 0);
    assert_false(descendants_runs(pid));
}

static void test_first_thread_ended(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t other;
        pthread_create(&other, NULL, sleep_on, NULL);
        pthread_exit(NULL);
    }
    await_state(pid, 'Z');
    assert_true(descendants_runs(pid));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_false(descendants_runs(pid));
}

/* A process that sleeps with the key in its environment is found, one with another key is not. */
static void test_left(void **state)
{
    (void)state;
    char key[64], other[64];
    snprintf(key, sizeof key, "TIDEMARK_TEST_KEY=%d-own", getpid());
    snprintf(other, sizeof other, "TIDEMARK_TEST_KEY=%d-other", getpid());
    assert_int_equal(descendants_left(key).silent, 0);
    pid_t pid = fork();
    if (pid == 0) {
        execle("/bin/sleep", "sleep", "1000", (char *)NULL, (char *[]){key, NULL});
        _exit(1);
    }
    struct descendants found;
    do
        found = descendants_left(key);
    while (!found.silent && descendants_runs(pid));
    assert_int_equal(found.silent, 1);
    assert_int_equal(found.forked, 0);
    assert_int_equal(descendants_left(other).silent, 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(descendants_left(key).silent, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_first_thread_ended),
        cmocka_unit_test(test_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
