/* Errors, memory and files of the command line. */
#include "tools/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/text.h"

_Noreturn void cli_out_of_memory(void)
{
    fputs("heddle: error: out of memory\n", stderr);
    exit(CLI_NO_RESOURCE);
}

void *cli_alloc(size_t n)
{
    return cli_realloc(NULL, n);
}

void *cli_realloc(void *p, size_t n)
{
    p = realloc(p, n ? n : 1);
    if (!p)
        cli_out_of_memory();
    return p;
}

char *cli_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(cli_alloc(n), s, n);
}

static char *format_list(const char *format, va_list ap)
{
    char *text;
    if (vasprintf(&text, format, ap) < 0)
        cli_out_of_memory();
    return text;
}

char *cli_format(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    char *text = format_list(format, ap);
    va_end(ap);
    return text;
}

int cli_fail(struct cli_error *err, int status, const char *path, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    err->status = status;
    err->class = status == CLI_BAD_INPUT ? "user" : status == CLI_NO_RESOURCE ? "resource" : "io";
    err->path = path && *path ? cli_strdup(path) : NULL;
    err->message = format_list(format, ap);
    err->detail = NULL;
    va_end(ap);
    return -1;
}

int cli_fail_errno(struct cli_error *err, const char *path, const char *doing)
{
    if (errno == EINTR && cli_stopped())
        return cli_fail_stopped(err);
    return cli_fail(err, CLI_FAILED, path, "%s: %s", doing, strerror(errno));
}

int cli_adopt(struct cli_error *err, heddle_error *e)
{
    const char *path = heddle_error_path(e), *detail = heddle_error_detail(e);
    if (heddle_error_get_class(e) == HEDDLE_ERROR_CANCELLED && cli_stopped()) {
        heddle_error_free(e);
        return cli_fail_stopped(err);
    }
    err->status = heddle_error_exit_status(e);
    err->class = heddle_error_class_name(heddle_error_get_class(e));
    err->path = path && *path ? cli_strdup(path) : NULL;
    err->message = cli_strdup(heddle_error_message(e));
    err->detail = detail ? cli_strdup(detail) : NULL;
    heddle_error_free(e);
    return -1;
}

void cli_error_print(const struct cli_error *err, bool verbose)
{
    fputs("heddle: error: ", stderr);
    if (err->path) {
        text_put_printable(stderr, err->path, "");
        fputs(": ", stderr);
    }
    text_put_printable(stderr, err->message, "");
    fputc('\n', stderr);
    if (err->detail && verbose) {
        text_put_printable(stderr, err->detail, "\n\t");
        fputc('\n', stderr);
    } else if (err->detail) {
        fputs("(--verbose prints more)\n", stderr);
    }
}

void cli_error_clear(struct cli_error *err)
{
    free(err->path);
    free(err->message);
    free(err->detail);
    *err = (struct cli_error){0};
}

/* Reads to the end; the text is NUL-terminated. */
static int slurp(FILE *f, char **text, size_t *size)
{
    size_t room = 1 << 16, n = 0;
    char *s = cli_alloc(room);
    size_t got;
    while ((got = fread(s + n, 1, room - n - 1, f)) > 0) {
        n += got;
        if (n + 1 == room)
            s = cli_realloc(s, room *= 2);
    }
    s[n] = 0;
    *text = s;
    *size = n;
    return ferror(f) ? -1 : 0;
}

int cli_read_bytes(const char *path, char **bytes, size_t *size, struct cli_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "rb");
    if (!f) {
        cli_fail_errno(err, path, "cannot open");
        err->status = errno == ENOENT || errno == ENOTDIR ? CLI_BAD_INPUT : CLI_FAILED;
        return -1;
    }
    int rc = slurp(f, bytes, size);
    if (rc)
        cli_fail_errno(err, path, "cannot read");
    if (rc)
        free(*bytes);
    if (!standard)
        fclose(f);
    return rc;
}

int cli_read_file(const char *path, char **text, struct cli_error *err)
{
    size_t size;
    if (cli_read_bytes(path, text, &size, err))
        return -1;
    if (!memchr(*text, 0, size))
        return 0;
    free(*text);
    return cli_fail(err, CLI_BAD_INPUT, path, "expected text, found a NUL byte");
}

int cli_flush(FILE *f, const char *path, struct cli_error *err)
{
    if (fflush(f) || ferror(f))
        return cli_fail_errno(err, path, "cannot write");
    return 0;
}
