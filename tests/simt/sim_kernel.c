/* Kernels for the emulator: the emitted source is written to a folder under the hash of it and of all that it includes, and
 * compiled there once. The embedded headers and the twin have a folder for all kernels, with the header of pipelines
 * precompiled: most kernels begin with it, and reading it takes a third of the compiler's time. Templates of the folder
 * HEDDLE_SIMT_PLANTED, if it is set, take the place of those of their names: planted_plans.py has bugs in them. */
#include <fcntl.h>
#include <pthread.h>
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

static int digest_headers(struct hd_arena *a, const struct sim_compiler *c, struct digest *d, struct hd_err *err)
{
    const char *text;
    HD_TRY(sim_machine_text(c->root, a, &text, err));
    *d = (struct digest){0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL};
    digest_add(d, c->cxx);
    digest_add(d, c->flags);
    digest_add(d, text);
    for (int i = 0; i < hdd_ntemplates; i++) {
        HD_TRY(template_text(a, &hdd_templates[i], &text, err));
        digest_add(d, text);
    }
    return 0;
}

static const char *folder_of(struct hd_arena *a, const struct sim_compiler *c, const struct digest *d)
{
    const char *dir = hd_asprintf(a, "%s/%016llx%016llx", c->cache, (unsigned long long)d->a, (unsigned long long)d->b);
    mkdir(c->cache, 0777);
    mkdir(dir, 0777);
    return dir;
}

static int write_headers(struct hd_arena *a, const struct sim_compiler *c, const char *dir, struct hd_err *err)
{
    char *twin;
    HD_TRY(read_text(a, hd_asprintf(a, "%s/tests/simt/twin.cuh", c->root), &twin, err));
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

/* headers: the folder that has hd/; language: what the source is, for -x. */
static int compile(struct hd_arena *a, const struct sim_compiler *c, const char *headers, const char *language,
                   const char *source, const char *out, struct hd_err *err)
{
    char *argv[FLAGS_MAX + 16], *save = NULL;
    const char *temporary = temporary_name(a, out);
    const char *log = hd_asprintf(a, "%s.log", temporary);
    int n = 0;
    argv[n++] = hd_strdup(a, c->cxx);
    for (char *f = strtok_r(hd_strdup(a, c->flags), " ", &save); f && n < FLAGS_MAX; f = strtok_r(NULL, " ", &save))
        argv[n++] = f;
    argv[n++] = hd_asprintf(a, "-I%s", headers);
    argv[n++] = hd_asprintf(a, "-I%s", c->root);
    argv[n++] = hd_strdup(a, "-x");
    argv[n++] = hd_strdup(a, language);
    argv[n++] = hd_strdup(a, source);
    argv[n++] = hd_strdup(a, "-o");
    argv[n++] = hd_strdup(a, temporary);
    argv[n++] = hd_strdup(a, "-lgcc"); /* 128 bits; all else is in the program that loads it */
    argv[n] = NULL;
    if (run(argv, log) != 0) {
        char *text = NULL;
        HD_FAIL(err, TOOL, source, "the host compiler refused an emitted kernel");
        if (read_text(a, log, &text, NULL) == 0)
            hd_err_set_detail(err, text);
        return -1;
    }
    unlink(log);
    return rename(temporary, out) == 0 ? 0 : HD_FAIL(err, IO, out, "the file cannot be written");
}

/* What all kernels of a process include. The precompiled header is written last: with it, all are there. */
static int prepare_headers(struct hd_arena *a, const struct sim_compiler *c, struct digest *d, struct hd_err *err)
{
    HD_TRY(digest_headers(a, c, d, err));
    const char *dir = folder_of(a, c, d), *source = hd_asprintf(a, "%s/hd/pipeline.cuh", dir),
               *compiled = hd_asprintf(a, "%s.gch", source);
    if (access(compiled, R_OK) == 0)
        return 0;
    HD_TRY(write_headers(a, c, dir, err));
    return compile(a, c, dir, "c++-header", source, compiled, err);
}

/* The digest of all that is included, once for a process, whose compiler is one. */
static int headers_of(struct hd_arena *a, const struct sim_compiler *c, struct digest *d, struct hd_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct digest known;
    static bool ready;
    pthread_mutex_lock(&lock);
    ready = ready || prepare_headers(a, c, &known, err) == 0;
    const int rc = ready ? 0 : -1;
    *d = known;
    pthread_mutex_unlock(&lock);
    return rc;
}

int sim_compile(const struct sim_compiler *c, struct hd_arena *a, const char *source, const char **library,
                struct hd_err *err)
{
    struct digest d;
    HD_TRY(headers_of(a, c, &d, err));
    HD_TRY(planted_source(a, &source, err));
    const char *headers = folder_of(a, c, &d);
    digest_add(&d, source);
    const char *dir = folder_of(a, c, &d), *written = hd_asprintf(a, "%s/kernel.cu", dir);
    *library = hd_asprintf(a, "%s/kernel.so", dir);
    if (access(*library, R_OK) == 0)
        return 0;
    HD_TRY(write_text(a, written, source, err));
    return compile(a, c, headers, "c++", written, *library, err);
}
