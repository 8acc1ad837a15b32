/* Kernels for the emulator: the emitted source, the embedded headers and the twin are written
 * to a folder under the hash of all of them, and compiled there once. Templates of the folder HEDDLE_SIMT_PLANTED, if it
 * is set, take the place of those of their names: planted_plans.py has bugs in them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/strbuf.h"
#include "templates/embed.h"
#include "tests/simt/sim.h"

enum { FLAGS_MAX = 64 };

/* FNV-1a, twice with different starts. */
struct digest {
    uint64_t a, b;
};

static void digest_add(struct digest *d, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        d->a = (d->a ^ *s) * 0x100000001b3ULL;
        d->b = (d->b ^ *s) * 0x100000001b3ULL + 0x9e3779b9;
    }
    d->a = (d->a ^ 0xff) * 0x100000001b3ULL;
}

static int read_text(struct hd_arena *a, const char *path, char **text, struct hd_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        if (fd >= 0)
            close(fd);
        return HD_FAIL(err, IO, path, "the file cannot be read");
    }
    *text = hd_zalloc(a, (size_t)st.st_size + 1);
    ssize_t n = read(fd, *text, (size_t)st.st_size);
    close(fd);
    return n == st.st_size ? 0 : HD_FAIL(err, IO, path, "the file cannot be read");
}

/* The name that a file is written under first: tests run side by side, and threads of one compile the same. */
static const char *temporary_name(struct hd_arena *a, const char *path)
{
    return hd_asprintf(a, "%s.%d.%d", path, (int)getpid(), (int)gettid());
}

static int write_text(struct hd_arena *a, const char *path, const char *text, struct hd_err *err)
{
    const char *temporary = temporary_name(a, path);
    FILE *f = fopen(temporary, "wb");
    bool ok = f && fputs(text, f) >= 0;
    ok = f && fclose(f) == 0 && ok;
    if (!ok || rename(temporary, path) != 0)
        return HD_FAIL(err, IO, path, "the file cannot be written");
    return 0;
}

int sim_machine_text(const char *root, struct hd_arena *a, const char **text, struct hd_err *err)
{
    static const char *const files[] = {"tests/simt/twin.cuh", "tests/simt/plain.cuh", "tests/simt/simt.h",
                                        "templates/host.h"};
    *text = "";
    for (size_t i = 0; i < HD_COUNT(files); i++) {
        char *one;
        HD_TRY(read_text(a, hd_asprintf(a, "%s/%s", root, files[i]), &one, err));
        *text = hd_asprintf(a, "%s%s", *text, one);
    }
    return 0;
}

static int template_text(struct hd_arena *a, const struct hdd_template *t, const char **text, struct hd_err *err)
{
    const char *dir = getenv("HEDDLE_SIMT_PLANTED");
    const char *path = dir ? hd_asprintf(a, "%s/%s", dir, t->name) : NULL;
    char *planted;
    *text = t->text;
    if (!path || access(path, R_OK) != 0)
        return 0;
    HD_TRY(read_text(a, path, &planted, err));
    *text = planted;
    return 0;
}

/* A source that is a template itself. */
static int planted_source(struct hd_arena *a, const char **source, struct hd_err *err)
{
    for (int i = 0; i < hdd_ntemplates; i++)
        if (strcmp(*source, hdd_templates[i].text) == 0)
            return template_text(a, &hdd_templates[i], source, err);
    return 0;
}

static int digest_all(struct hd_arena *a, const struct sim_compiler *c, const char *source, const char *machine,
                      struct digest *out, struct hd_err *err)
{
    struct digest d = {0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
    digest_add(&d, c->cxx);
    digest_add(&d, c->flags);
    digest_add(&d, machine);
    for (int i = 0; i < hdd_ntemplates; i++) {
        const char *text;
        HD_TRY(template_text(a, &hdd_templates[i], &text, err));
        digest_add(&d, text);
    }
    digest_add(&d, source);
    *out = d;
    return 0;
}

static int write_headers(struct hd_arena *a, const char *dir, const char *twin, struct hd_err *err)
{
    mkdir(hd_asprintf(a, "%s/hd", dir), 0777);
    for (int i = 0; i < hdd_ntemplates; i++) {
        const struct hdd_template *t = &hdd_templates[i];
        const char *text = twin;
        if (strcmp(t->name, "machine.cuh") != 0)
            HD_TRY(template_text(a, t, &text, err));
        HD_TRY(write_text(a, hd_asprintf(a, "%s/hd/%s", dir, t->name), text, err));
    }
    return 0;
}

/* Runs the compiler, its messages to a file. */
static int run(char *const *argv, const char *log)
{
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (fd >= 0) {
            dup2(fd, 1);
            dup2(fd, 2);
        }
        execvp(argv[0], argv);
        _exit(127);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int compile(struct hd_arena *a, const struct sim_compiler *c, const char *dir, const char *out,
                   struct hd_err *err)
{
    char *argv[FLAGS_MAX + 16], *save = NULL;
    const char *temporary = temporary_name(a, out);
    const char *log = hd_asprintf(a, "%s.log", temporary);
    int n = 0;
    argv[n++] = hd_strdup(a, c->cxx);
    for (char *f = strtok_r(hd_strdup(a, c->flags), " ", &save); f && n < FLAGS_MAX; f = strtok_r(NULL, " ", &save))
        argv[n++] = f;
    argv[n++] = hd_asprintf(a, "-I%s", dir);
    argv[n++] = hd_asprintf(a, "-I%s", c->root);
    argv[n++] = hd_strdup(a, "-x");
    argv[n++] = hd_strdup(a, "c++");
    argv[n++] = hd_asprintf(a, "%s/kernel.cu", dir);
    argv[n++] = hd_strdup(a, "-o");
    argv[n++] = hd_strdup(a, temporary);
    argv[n] = NULL;
    if (run(argv, log) != 0) {
        char *text = NULL;
        HD_FAIL(err, TOOL, dir, "the host compiler refused an emitted kernel");
        if (read_text(a, log, &text, NULL) == 0)
            hd_err_set_detail(err, text);
        return -1;
    }
    unlink(log);
    return rename(temporary, out) == 0 ? 0 : HD_FAIL(err, IO, out, "the file cannot be written");
}

int sim_compile(const struct sim_compiler *c, struct hd_arena *a, const char *source, const char **library,
                struct hd_err *err)
{
    char *twin = NULL;
    const char *machine;
    HD_TRY(read_text(a, hd_asprintf(a, "%s/tests/simt/twin.cuh", c->root), &twin, err));
    HD_TRY(sim_machine_text(c->root, a, &machine, err));
    HD_TRY(planted_source(a, &source, err));
    struct digest d;
    HD_TRY(digest_all(a, c, source, machine, &d, err));
    const char *dir = hd_asprintf(a, "%s/%016llx%016llx", c->cache, (unsigned long long)d.a, (unsigned long long)d.b);
    *library = hd_asprintf(a, "%s/kernel.so", dir);
    if (access(*library, R_OK) == 0)
        return 0;
    mkdir(c->cache, 0777);
    mkdir(dir, 0777);
    HD_TRY(write_headers(a, dir, twin, err));
    HD_TRY(write_text(a, hd_asprintf(a, "%s/kernel.cu", dir), source, err));
    return compile(a, c, dir, *library, err);
}
