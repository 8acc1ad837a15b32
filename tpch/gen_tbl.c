/* The .tbl writer; see gen_tbl.h.
 *
 * Workers take tasks (ranges of rows) in file order from one queue, format each into a slot
 * and hand the slot over.  Its place in the file is known once all tasks before it are
 * formatted; whichever worker completes a run of slots assigns their places and writes them
 * with pwrite.  There are twice as many slots as workers, so that formatting rarely waits. */
#include "gen_tbl.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gen_format.h"
#include "gen_par.h"
#include "runtime/base/claim.h"

#define TASK_ROWS  8192 /* about a megabyte of lineitem */
#define BATCH_ROWS 1024 /* columns and text of a batch stay in the second-level cache */

#define FIRST_DAY  8035
#define DAYS       2560
#define PATH_BYTES 4096

/* Large tables first: the small ones fill up the end. */
static const enum tg_table file_order[TG_TABLE_COUNT] = {
    TG_LINEITEM, TG_ORDERS,        TG_PARTSUPP,     TG_CUSTOMER, TG_PART,         TG_SUPPLIER, TG_NATION,
    TG_REGION,   TG_SSB_LINEORDER, TG_SSB_CUSTOMER, TG_SSB_PART, TG_SSB_SUPPLIER, TG_SSB_DATE,
};

/* ---- formatting ------------------------------------------------------------------------- */

struct day_text {
    char text[16];
};
static struct day_text day_texts[DAYS];
static pthread_once_t day_texts_once = PTHREAD_ONCE_INIT;

static int month_days(int year, int month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && year % 4 == 0);
}

static void fill_day_texts(void)
{
    int year = 1992, month = 1, day = 1;
    for (int i = 0; i < DAYS; i++) {
        char *p = day_texts[i].text;
        tg_put_pair(p, (uint32_t)year / 100);
        tg_put_pair(p + 2, (uint32_t)year % 100);
        tg_put_pair(p + 5, (uint32_t)month);
        tg_put_pair(p + 8, (uint32_t)day);
        p[4] = p[7] = '-';
        p[10] = '|';
        if (++day > month_days(year, month)) {
            day = 1;
            year += month == 12;
            month = month % 12 + 1;
        }
    }
}

/* One field with its bar.  kind and dictionary are constants wherever this is inlined. */
static inline char *put_field(char *p, enum tg_kind kind, const struct tg_word *words, const struct tg_column *c,
                              int64_t row)
{
    switch (kind) {
    case TG_I32: p = tg_put_u32(p, (uint32_t)c->i32[row]); break;
    case TG_I64: p = tg_put_i64(p, c->i64[row]); break;
    case TG_MONEY: p = tg_put_money(p, c->i64[row]); break;
    case TG_DAY: memcpy(p, day_texts[c->i32[row] - FIRST_DAY].text, 16); return p + 11;
    case TG_CODE: p = tg_put_word(p, &words[c->code[row]]); break;
    case TG_TEXT: p = tg_put_bytes(p, c->bytes + c->offsets[row], c->offsets[row + 1] - c->offsets[row]);
    }
    *p = '|';
    return p + 1;
}

/* Each caller names its table, which leaves only that table's columns of the list. */
static inline __attribute__((always_inline)) char *put_rows(enum tg_table t, const struct tg_batch *b, char *p)
{
    const struct tg_word *words[TG_TABLE_COLUMNS] = {NULL};
    const int first = tg_first_column(t), end = tg_first_column(t + 1);
    for (int c = first; c < end; c++)
        words[c - first] = tg_columns[c].kind == TG_CODE ? tg_column_dict(c).words : NULL;
    for (int64_t row = 0; row < b->rows; row++) {
        int i = 0;
#define T_COL(table, id, name, kind, dict, max, used) \
    if (t == TG_##table) { \
        p = put_field(p, TG_##kind, words[i], &b->col[i], row); \
        i++; \
    }
#include "gen_columns.def"
        *p++ = '\n';
    }
    return p;
}

char *tg_tbl_format(const struct tg_batch *b, char *out)
{
    pthread_once(&day_texts_once, fill_day_texts);
    switch (b->table) {
#define T_TABLE(schema, id, name, first, produce, lines, whole) \
    case TG_##id: return put_rows(TG_##id, b, out);
#include "gen_tables.def"
    case TG_TABLE_COUNT: break;
    }
    return out;
}

size_t tg_tbl_room(enum tg_table t, int64_t rows)
{
    size_t row = 1;
    for (int c = tg_first_column(t); c < tg_first_column(t + 1); c++)
        row += tg_columns[c].kind == TG_TEXT ? (size_t)tg_columns[c].max_bytes + 1 : 28;
    return row * (size_t)rows + TG_FORMAT_SLACK;
}

/* ---- files ------------------------------------------------------------------------------ */

struct file {
    enum tg_table table;
    int fd; /* -1: not open */
    int64_t size;
    char path[PATH_BYTES], temp[PATH_BYTES];
};

enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_WRITING };

struct slot {
    enum slot_state state;
    struct tg_range range;
    struct file *file;
    char *text;
    size_t bytes;
    int64_t offset; /* in the file, once writing */
};

struct job {
    const struct tg_gen *g;
    const struct tg_tbl_options *o;
    struct tg_error *err;
    int threads;
    struct file *files;
    int file_count;
    char dir[PATH_BYTES]; /* where files are written until all are done */
    int claim;            /* the lock of that folder */

    pthread_mutex_t lock;
    pthread_cond_t freed;
    struct slot *slots;
    int64_t slot_count;
    int64_t taken;  /* tasks handed out */
    int64_t placed; /* tasks whose place in the file is known */
    int file;       /* in work by the cursor */
    bool cursor_valid;
    struct tg_cursor cursor;
    bool failed;
    double work_total, work_done;
};

/* Names the files and counts them; false if a name is too long. */
static bool name_files(struct job *job)
{
    const struct tg_tbl_options *o = job->o;
    const int first = tg_first_table(tg_gen_scheme(job->g)), end = tg_end_table(tg_gen_scheme(job->g));
    for (int i = 0; i < TG_TABLE_COUNT; i++) {
        const enum tg_table t = file_order[i];
        if ((int)t < first || (int)t >= end || (o->tables != 0 && (o->tables >> t & 1) == 0))
            continue;
        struct file *f = &job->files[job->file_count++];
        char suffix[32] = "";
        if (o->chunks > 0 && !tg_table_whole(t))
            snprintf(suffix, sizeof suffix, ".%lld", (long long)o->chunk);
        f->table = t;
        f->fd = -1;
        int n = snprintf(f->path, PATH_BYTES, "%s/%s.tbl%s", o->dir, tg_table_name(t), suffix);
        int m = snprintf(f->temp, PATH_BYTES, "%s/%s.tbl%s", job->dir, tg_table_name(t), suffix);
        if (n < 0 || m < 0 || n >= PATH_BYTES || m >= PATH_BYTES)
            return false;
    }
    return true;
}

/* A folder of this run's in the one to write to. Goes first over those of dead runs. */
static int claim_folder(struct job *job)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/.heddle-tbl", job->o->dir);
    errno = ENAMETOOLONG;
    job->claim = n < PATH_BYTES ? hd_claim_new(path, job->dir, sizeof job->dir) : -1;
    if (job->claim >= 0)
        return 0;
    tg_fail(job->err, job->o->dir, errno, "cannot create a folder to write in");
    return -1;
}

static int open_files(struct job *job)
{
    for (int i = 0; i < job->file_count; i++) {
        struct file *f = &job->files[i];
        struct stat st;
        if (stat(f->path, &st) == 0 && S_ISDIR(st.st_mode)) {
            tg_fail(job->err, f->path, EISDIR, "cannot replace");
            return -1;
        }
        f->fd = open(f->temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (f->fd < 0) {
            tg_fail(job->err, f->temp, errno, "cannot create");
            return -1;
        }
    }
    return 0;
}

/* Renames all files, or none: those renamed before a failure go away again. */
static int rename_files(struct job *job)
{
    for (int i = 0; i < job->file_count; i++) {
        struct file *f = &job->files[i];
        if (rename(f->temp, f->path) == 0)
            continue;
        tg_fail(job->err, f->path, errno, "cannot rename the finished file");
        while (i-- > 0)
            unlink(job->files[i].path);
        return -1;
    }
    return 0;
}

/* Closes everything; if all is well the files get their names. */
static int finish_files(struct job *job, int result)
{
    for (int i = 0; i < job->file_count; i++) {
        struct file *f = &job->files[i];
        if (f->fd >= 0 && close(f->fd) != 0 && result == 0) {
            tg_fail(job->err, f->temp, errno, "cannot write");
            result = -1;
        }
    }
    if (result == 0)
        result = rename_files(job);
    return result;
}

/* ---- tasks ------------------------------------------------------------------------------ */

static void units_of(const struct job *job, enum tg_table t, int64_t *begin, int64_t *end)
{
    int64_t n = job->o->chunks > 0 ? job->o->chunks : 1;
    int64_t i = job->o->chunks > 0 ? job->o->chunk : 1;
    tg_chunk_units(job->g, t, i, n, begin, end);
}

/* Rough cost of a table in rows, for the progress bar. */
static double work_of(const struct job *job, enum tg_table t)
{
    int64_t begin, end;
    units_of(job, t, &begin, &end);
    return (double)(end - begin) * (tg_unit_rows(t) > 1 ? 4 : 1);
}

static bool cancelled(struct job *job)
{
    return job->o->cancel != NULL && atomic_load(job->o->cancel);
}

/* The next range in file order, files one after another; false if none is left. */
static bool next_range(struct job *job, struct tg_range *range, struct file **file)
{
    for (; job->file < job->file_count; job->file++, job->cursor_valid = false) {
        struct file *f = &job->files[job->file];
        if (!job->cursor_valid) {
            int64_t begin, end;
            units_of(job, f->table, &begin, &end);
            tg_cursor_init(&job->cursor, job->g, f->table, begin, end);
            job->cursor_valid = true;
        }
        *file = f;
        if (tg_cursor_next(&job->cursor, TASK_ROWS, range))
            return true;
    }
    return false;
}

/* Under the lock.  Wakes those who wait for a slot that now stays unwritten. */
static void set_cancelled(struct job *job)
{
    tg_fail(job->err, "", ECANCELED, "generation");
    if (job->err != NULL)
        job->err->cancelled = true;
    job->failed = true;
    pthread_cond_broadcast(&job->freed);
}

/* Waits for the slot of the next task and takes both; NULL when there is nothing to do. */
static struct slot *claim_task(struct job *job)
{
    struct slot *s = NULL;
    pthread_mutex_lock(&job->lock);
    for (;;) {
        if (cancelled(job) && !job->failed)
            set_cancelled(job);
        s = &job->slots[job->taken % job->slot_count];
        if (job->failed || s->state == SLOT_FREE)
            break;
        pthread_cond_wait(&job->freed, &job->lock);
    }
    if (job->failed || !next_range(job, &s->range, &s->file)) {
        s = NULL;
    } else {
        s->state = SLOT_FILLING;
        job->taken++;
    }
    pthread_mutex_unlock(&job->lock);
    return s;
}

static void fail_job(struct job *job, const char *path, int code, const char *what)
{
    pthread_mutex_lock(&job->lock);
    if (!job->failed)
        tg_fail(job->err, path, code, "%s", what);
    job->failed = true;
    pthread_cond_broadcast(&job->freed);
    pthread_mutex_unlock(&job->lock);
}

/* Gives the next formatted slot its place in the file; NULL if its turn has not come. */
static struct slot *place_next(struct job *job)
{
    pthread_mutex_lock(&job->lock);
    struct slot *s = &job->slots[job->placed % job->slot_count];
    if (job->placed == job->taken || s->state != SLOT_READY || job->failed) {
        s = NULL;
    } else {
        s->state = SLOT_WRITING;
        s->offset = s->file->size;
        s->file->size += (int64_t)s->bytes;
        job->placed++;
    }
    pthread_mutex_unlock(&job->lock);
    return s;
}

static void set_ready(struct job *job, struct slot *s, size_t bytes)
{
    pthread_mutex_lock(&job->lock);
    s->bytes = bytes;
    s->state = SLOT_READY;
    pthread_mutex_unlock(&job->lock);
}

static void report(struct job *job, const struct slot *s)
{
    const struct tg_tbl_options *o = job->o;
    const double min = job->work_total > 1 ? job->work_total : 1;
    double fraction = (job->work_done += (double)s->range.rows) / min;
    if (o->progress == NULL || job->failed)
        return;
    if (o->progress(o->user, fraction < 1 ? fraction : 1, tg_table_name(s->range.table)) != 0)
        set_cancelled(job);
}

static void write_slot(struct job *job, struct slot *s)
{
    size_t done = 0;
    while (done < s->bytes) {
        ssize_t n = pwrite(s->file->fd, s->text + done, s->bytes - done, (off_t)(s->offset + (int64_t)done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            fail_job(job, s->file->path, n < 0 ? errno : EIO, "cannot write");
            return;
        }
        done += (size_t)n;
    }
    pthread_mutex_lock(&job->lock);
    s->state = SLOT_FREE;
    report(job, s);
    pthread_cond_broadcast(&job->freed);
    pthread_mutex_unlock(&job->lock);
}

static size_t format_range(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b, char *out)
{
    struct tg_cursor c;
    struct tg_range part;
    char *p = out;
    tg_cursor_inside(&c, g, r);
    while (tg_cursor_next(&c, b->max_rows, &part)) {
        tg_produce(g, &part, b);
        p = tg_tbl_format(b, p);
    }
    return (size_t)(p - out);
}

/* Batch of the right table: kept while tasks stay in one table. */
static struct tg_batch *batch_for(enum tg_table t, struct tg_batch *b)
{
    if (b != NULL && b->table == t)
        return b;
    tg_batch_free(b);
    return tg_batch_new(t, tg_all_columns(t), BATCH_ROWS);
}

static void work(void *arg, int index)
{
    struct job *job = arg;
    struct tg_batch *b = NULL;
    (void)index;
    for (struct slot *s; (s = claim_task(job)) != NULL;) {
        b = batch_for(s->range.table, b);
        if (b == NULL) {
            fail_job(job, "", ENOMEM, "batch");
            return;
        }
        set_ready(job, s, format_range(job->g, &s->range, b, s->text));
        while ((s = place_next(job)) != NULL)
            write_slot(job, s);
    }
    tg_batch_free(b);
}

/* ---- the job ---------------------------------------------------------------------------- */

static size_t slot_bytes(const struct job *job)
{
    size_t max = 0;
    for (int i = 0; i < job->file_count; i++) {
        size_t room = tg_tbl_room(job->files[i].table, TASK_ROWS);
        max = room > max ? room : max;
    }
    return max;
}

static int make_slots(struct job *job)
{
    const size_t bytes = slot_bytes(job);
    job->slot_count = 2 * job->threads + 2;
    job->slots = calloc((size_t)job->slot_count, sizeof *job->slots);
    for (int64_t i = 0; job->slots != NULL && i < job->slot_count; i++)
        if ((job->slots[i].text = malloc(bytes)) == NULL)
            break;
    if (job->slots == NULL || job->slots[job->slot_count - 1].text == NULL) {
        tg_fail(job->err, "", ENOMEM, "output buffers");
        return -1;
    }
    return 0;
}

static void free_slots(struct job *job)
{
    for (int64_t i = 0; job->slots != NULL && i < job->slot_count; i++)
        free(job->slots[i].text);
    free(job->slots);
}

static int write_files(struct job *job)
{
    if (!name_files(job)) {
        tg_fail(job->err, job->o->dir, ENAMETOOLONG, "cannot write");
        return -1;
    }
    for (int i = 0; i < job->file_count; i++)
        job->work_total += work_of(job, job->files[i].table);
    if (make_slots(job) == 0 && open_files(job) == 0)
        tg_parallel(job->threads, work, job);
    else
        job->failed = true;
    free_slots(job);
    return finish_files(job, job->failed ? -1 : 0);
}

static int run(struct job *job)
{
    if (claim_folder(job) != 0)
        return -1;
    int result = write_files(job);
    hd_dir_remove(job->dir);
    hd_claim_end(job->dir, job->claim);
    return result;
}

static int check(const struct tg_tbl_options *o, struct tg_error *err)
{
    if (o->chunks < 0 || o->chunk < 0 || o->chunk > o->chunks || (o->chunks > 0 && o->chunk == 0)) {
        tg_fail(err, "", 0, "chunk %lld/%lld is not within 1/n .. n/n", (long long)o->chunk, (long long)o->chunks);
        return -1;
    }
    return 0;
}

int tg_tbl_write(const struct tg_gen *g, const struct tg_tbl_options *o, struct tg_error *err)
{
    if (check(o, err) != 0)
        return -1;
    struct job job = {.g = g, .o = o, .err = err, .threads = tg_thread_count(o->threads)};
    job.files = calloc(TG_TABLE_COUNT, sizeof *job.files);
    if (job.files == NULL) {
        tg_fail(err, o->dir, ENOMEM, "output files");
        return -1;
    }
    int result = -1;
    const bool made = mkdir(o->dir, 0777) == 0;
    if (!made && errno != EEXIST) {
        tg_fail(err, o->dir, errno, "cannot create the directory");
    } else {
        pthread_mutex_init(&job.lock, NULL);
        pthread_cond_init(&job.freed, NULL);
        result = run(&job);
        pthread_cond_destroy(&job.freed);
        pthread_mutex_destroy(&job.lock);
    }
    if (result != 0 && made)
        rmdir(o->dir);
    free(job.files);
    return result;
}
