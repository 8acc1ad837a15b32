/* Compiling in a process of its own: the same code as in this one, and whatever that process does,
 * the source is compiled, no descriptor stays open and no process stays behind.
 *
 *   test_compile HEDDLE-NVRTC FAKE-COMPILER      skipped without NVRTC */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/fault.h"
#include "runtime/gpu/compile_process.h"

enum { ARCH = 90, THREADS = 4, SOURCES = 10, SKIPPED = 77 };

static const char *server, *fake;
static struct rt_bytes expected[2];

/* Small and quick; the second starts as a pipeline does. */
static const char *const sources[2] = {
    "extern \"C\" __global__ void k(int *p) { *p = 42; }\n",
    "// a pipeline\n#include \"hd/pipeline.cuh\"\n"
    "HDD_KERNEL(k)(u64 *p) { *p = hdd_lane(); }\n",
};

/* ---- what a compiler leaves behind ----------------------------------------------------- */

static int open_files(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static bool has_children(void)
{
    return waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
}

/* ---- compiling ------------------------------------------------------------------------- */

static struct rt_compiler *open_compiler(const char *executable, bool cold)
{
    struct rt_compiler *c;
    struct rt_nvrtc *n;
    struct hd_err err;
    hd_err_init(&err);
    setenv("HEDDLE_COMPILER", executable, 1);
    assert_int_equal(rt_nvrtc_open(NULL, &n, &err), 0);
    if (rt_compile_process_open(n, ARCH, cold, &c, &err) != 0)
        fail_msg("%s: %s", err.path, err.message);
    return c;
}

struct work {
    struct rt_compiler *c;
    int kinds; /* of sources, one after the other */
    _Atomic int next, same, fakes, failed;
};

static void *compile_some(void *context)
{
    struct work *w = context;
    for (int i; (i = w->next++) < SOURCES;) {
        struct rt_bytes image;
        struct hd_err err;
        hd_err_init(&err);
        if (w->c->compile(w->c, "test", sources[i % w->kinds], &image, &err) != 0) {
            fprintf(stderr, "%s\n", err.message);
            w->failed++;
        } else {
            const struct rt_bytes *e = &expected[i % w->kinds];
            w->same += image.n == e->n && memcmp(image.p, e->p, e->n) == 0;
            w->fakes += image.n == 4 && memcmp(image.p, "fake", 4) == 0;
            rt_bytes_release(&image);
        }
        hd_err_release(&err);
    }
    return NULL;
}

static void compile_all(struct work *w, struct rt_compiler *c, int kinds)
{
    pthread_t ids[THREADS];
    memset(w, 0, sizeof *w);
    w->c = c;
    w->kinds = kinds;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, compile_some, w), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    assert_int_equal(w->failed, 0);
}

/* ---- heddle-nvrtc ---------------------------------------------------------------------- */

static void same_code(void **state HD_UNUSED)
{
    struct work w;
    int before = open_files();
    for (int cold = 0; cold < 2; cold++) {
        struct rt_compiler *c = open_compiler(server, cold), *here = open_compiler("none", cold);
        assert_string_equal(c->identity, here->identity);
        compile_all(&w, c, 2);
        compile_all(&w, c, 2);
        assert_int_equal(w.same, SOURCES);
        assert_true(has_children());
        assert_null(c->trouble(c));
        assert_non_null(here->trouble(here));
        c->close(c);
        here->close(here);
        assert_false(has_children());
    }
    assert_int_equal(open_files(), before);
}

static void starts_for_two(void **state HD_UNUSED)
{
    struct rt_bytes image;
    struct rt_compiler *c = open_compiler(server, false);
    assert_int_equal(c->compile(c, "test", sources[0], &image, NULL), 0);
    rt_bytes_release(&image);
    assert_false(has_children());
    c->close(c);
}

static void same_errors(void **state HD_UNUSED)
{
    const char *wrong = "#include \"hd/pipeline.cuh\"\nint x = nothing;\n";
    struct rt_bytes image;
    struct hd_err errors[2];
    struct work w;
    for (int i = 0; i < 2; i++) {
        struct rt_compiler *c = open_compiler(i ? server : "none", true);
        hd_err_init(&errors[i]);
        compile_all(&w, c, 2); /* it has said hello */
        assert_int_equal(c->compile(c, "p7", wrong, &image, &errors[i]), -1);
        assert_null(image.p);
        c->close(c);
    }
    assert_int_equal(errors[1].class, HD_ERR_TOOL);
    assert_string_equal(errors[0].message, errors[1].message);
    assert_non_null(strstr(errors[1].detail, "\"nothing\" is undefined"));
    assert_string_equal(errors[0].detail, errors[1].detail);
    hd_err_release(&errors[0]);
    hd_err_release(&errors[1]);
}

/* Sends each child of a process a signal; how many there are. */
static int signal_children(pid_t of, int signal)
{
    char path[64];
    int pid, n = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)of, (int)of);
    FILE *f = fopen(path, "r");
    while (f && fscanf(f, "%d", &pid) == 1) {
        kill(pid, signal);
        n++;
    }
    if (f)
        fclose(f);
    return n;
}

static pid_t only_child(void)
{
    char path[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &pid) != 1)
        pid = 0;
    if (f)
        fclose(f);
    return pid;
}

static void survives_killed_processes(void **state HD_UNUSED)
{
    struct work w;
    int before = open_files();
    struct rt_compiler *c = open_compiler(server, true);
    compile_all(&w, c, 2);
    compile_all(&w, c, 2);
    pid_t pid = only_child();
    if (pid > 0) { /* a kernel may come without these lists */
        assert_in_range(signal_children(pid, SIGKILL), 1, THREADS);
        usleep(100000);
        compile_all(&w, c, 2);
        assert_int_equal(w.same, SOURCES);
        assert_null(c->trouble(c));
        kill(pid, SIGKILL);
        compile_all(&w, c, 2);
        assert_int_equal(w.same, SOURCES);
        assert_non_null(strstr(c->trouble(c), "ended by itself"));
    }
    c->close(c);
    assert_false(has_children());
    assert_int_equal(open_files(), before);
}

static void ends_with_its_user(void **state HD_UNUSED)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) { /* the server keeps standard error, here the pipe, open as long as it lives */
        struct work w;
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        compile_all(&w, open_compiler(server, true), 1);
        kill(getpid(), SIGKILL);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    waitpid(pid, NULL, 0);
}

static void is_found(void **state HD_UNUSED)
{
    struct rt_nvrtc *n;
    struct hd_err err;
    char *path;
    hd_err_init(&err);
    assert_int_equal(rt_nvrtc_open(NULL, &n, &err), 0);
    setenv("HEDDLE_COMPILER", server, 1);
    assert_int_equal(rt_compile_process_check(n, &path, &err), 0);
    assert_string_equal(path, server);
    free(path);
    static const char *const wrong[] = {"heddle-nvrtc", "/", "/nowhere/heddle-nvrtc"};
    for (size_t i = 0; i < HD_COUNT(wrong); i++) {
        struct rt_compiler *c;
        hd_err_release(&err);
        hd_err_init(&err);
        setenv("HEDDLE_COMPILER", wrong[i], 1);
        assert_int_equal(rt_compile_process_open(n, ARCH, false, &c, &err), -1);
        assert_non_null(strstr(err.message, "the absolute path of heddle-nvrtc"));
    }
    hd_err_release(&err);
    rt_nvrtc_close(n);
}

/* ---- any other executable -------------------------------------------------------------- */

static void try_fake(const char *mode, int fakes_least, const char *trouble)
{
    struct work w;
    int before = open_files();
    setenv("FAKE_COMPILER", mode, 1);
    struct rt_compiler *c = open_compiler(fake, true);
    compile_all(&w, c, 1);
    if (w.same + w.fakes != SOURCES || w.fakes < fakes_least)
        fail_msg("%s: %d of %d from here, %d from there", mode, w.same, SOURCES, w.fakes);
    const char *found = c->trouble(c);
    if (trouble ? !found || !strstr(found, trouble) : found != NULL)
        fail_msg("%s: expected %s, found %s", mode, trouble, found);
    c->close(c);
    assert_false(has_children());
    assert_int_equal(open_files(), before);
}

static void refuses_strangers(void **state HD_UNUSED)
{
    try_fake("good", SOURCES - THREADS, NULL); /* what is tested: its answers are taken */
    try_fake("exits", 0, "does not say who it is");
    try_fake("no hello", 0, "does not say who it is");
    try_fake("half a hello", 0, "does not say who it is");
    try_fake("huge hello", 0, "does not say who it is");
    try_fake("other build", 0, "of another build");
    try_fake("refuses", 0, "headers ");
}

static void helps_itself(void **state HD_UNUSED)
{
    static const char *const modes[] = {
        "closes",     "no answer",    "half an answer",          "odd class", "truncated", "nothing",
        "huge image", "huge message", "message beside an image",
    };
    for (size_t i = 0; i < HD_COUNT(modes); i++)
        try_fake(modes[i], 0, NULL);
    try_fake("dies", 0, "ended by itself");
    try_fake("stays", SOURCES - THREADS, NULL);
}

/* ---- what the system refuses ----------------------------------------------------------- */

static void lacks_sockets(void **state HD_UNUSED)
{
    static const char *const faults[] = {"open:1+", "open:2+"}; /* any; those of requests */
    setenv("FAKE_COMPILER", "good", 1);
    for (size_t i = 0; i < HD_COUNT(faults); i++) {
        struct work w;
        assert_true(hd_fault_arm(faults[i]));
        struct rt_compiler *c = open_compiler(fake, true);
        compile_all(&w, c, 1);
        hd_fault_arm(NULL);
        assert_int_equal(w.same, SOURCES);
        assert_int_equal(i == 0, c->trouble(c) != NULL);
        c->close(c);
    }
}

/* The nth allocation fails: an error or what was asked for, and nothing left behind. */
static void lacks_memory(void **state HD_UNUSED)
{
    int before = open_files(), n = 1, failed = 0;
    setenv("FAKE_COMPILER", "good", 1);
    setenv("HEDDLE_COMPILER", fake, 1);
    for (bool reached = true; reached; n++) {
        char fault[32];
        struct rt_nvrtc *nvrtc;
        struct rt_compiler *c;
        struct rt_bytes image;
        assert_int_equal(rt_nvrtc_open(NULL, &nvrtc, NULL), 0);
        snprintf(fault, sizeof fault, "alloc:%d", n);
        assert_true(hd_fault_arm(fault));
        int rc = rt_compile_process_open(nvrtc, ARCH, true, &c, NULL);
        if (rc != 0)
            rt_nvrtc_close(nvrtc);
        for (int i = 0; i < 3 && rc == 0; i++) {
            int compiled = c->compile(c, "test", sources[0], &image, NULL);
            failed += compiled != 0;
            if (compiled == 0)
                rt_bytes_release(&image);
        }
        failed += rc != 0;
        reached = hd_fault_calls(HD_FAULT_ALLOC) >= (uint64_t)n;
        hd_fault_arm(NULL);
        if (rc == 0)
            c->close(c);
        assert_false(has_children());
        assert_int_equal(open_files(), before);
    }
    assert_true(n > 4 && failed > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_code),          cmocka_unit_test(starts_for_two),
        cmocka_unit_test(same_errors),        cmocka_unit_test(survives_killed_processes),
        cmocka_unit_test(ends_with_its_user), cmocka_unit_test(is_found),
        cmocka_unit_test(refuses_strangers),  cmocka_unit_test(helps_itself),
        cmocka_unit_test(lacks_sockets),      cmocka_unit_test(lacks_memory),
    };
    struct rt_nvrtc *n;
    struct hd_err err;
    hd_err_init(&err);
    if (argc != 3)
        return 2;
    server = argv[1];
    fake = argv[2];
    if (rt_nvrtc_open(NULL, &n, &err) != 0) {
        printf("skipped: %s\n", err.message);
        return SKIPPED;
    }
    for (int i = 0; i < 2; i++)
        if (rt_nvrtc_compile(n, "test", sources[i], ARCH, RT_NVRTC_CUBIN, &expected[i], NULL, &err) != 0) {
            fprintf(stderr, "%s\n%s\n", err.message, err.detail);
            return 1;
        }
    rt_nvrtc_close(n);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rt_bytes_release(&expected[0]);
    rt_bytes_release(&expected[1]);
    return failed;
}
