/* A plan over several GPUs of a context, in several passes over one that its states do not fit, or over tables of several
 * segments. It is cut into fragments (docs/scale.md), of which each worker runs its own: a GPU, a pass over it, or for a segment,
 * in turns on the GPUs or on the CPU; their rows go from one to the other, or through the host. Shared by the files
 * api_spread*.c:
 *
 *   api_spread.c         whether a plan is spread
 *   api_spread_passes.c  how many passes over a GPU
 *   api_spread_read.c    its fragments
 *   api_spread_run.c     an execution: a thread for each GPU, on a CPU one
 *   api_spread_result.c  the rows of the last fragment, on the host or on the GPU
 *   api_spread_table.c   results of fragments as tables that others read
 *   api_spread_direct.c  those that go from GPU to GPU
 *   api_spread_few.c     a last step over few of them, on the CPU
 *   api_spread_report.c  what explain and the report tell
 */
#ifndef HEDDLE_API_SPREAD_H
#define HEDDLE_API_SPREAD_H

#include "api/api_statement.h"
#include "runtime/base/strbuf.h"
#include "runtime/exec/fragment_rows.h"

/* Decides for the statement's values, and again where a GPU was lost or executions have told more: the next one runs on
 * several, or on one of those that are there, in one pass or more. */
int api_spread_choose(struct heddle_statement *s, bool *spread, struct hd_err *err);
/* After an execution: what it took, for further choices. */
void api_spread_note(struct heddle_statement *s, bool spread);
/* Under backend auto: what passes over the GPU are expected to be, if its program, which is planned, needs any. RESOURCE where
 * its states do not fit, and passes would not help. */
int api_spread_expect(struct heddle_statement *s, struct pl_choice_passes *out, struct hd_err *err);
/* Of a statement whose plan was read: whether its tables have segments, and where it runs then. */
void api_spread_prepare(struct heddle_statement *s);
/* The error of whoever wants one program of such a plan. */
int api_spread_refuse(const struct heddle_statement *s, struct hd_err *err);
/* After an execution that failed: true where a GPU's memory was too small for its states, and the statement is spread over
 * more passes from now on. Then err is empty; else it stays. */
bool api_spread_retry(struct heddle_statement *s, struct hd_err *err);
/* Executes on one GPU or several, or on the CPU; states that a GPU's memory has no room for are made in more passes. out: struct
 * ArrowArrayStream. */
int api_spread_or_execute(struct heddle_statement *s, void *out, struct hd_err *err);
/* The same with rows that stay on a GPU, of passes one batch of each. out: struct ArrowDeviceArrayStream. Where there are
 * several GPUs it is one of them, without passes. */
int api_spread_or_give(struct heddle_statement *s, void *out, struct hd_err *err);
void api_spread_free(struct api_spread *p); /* NULL is fine */
/* Members of the report, a comma before each: of a statement whose last execution was on several. */
void api_spread_report(struct hd_strbuf *b, const struct heddle_statement *s);
/* The stage "devices". */
int api_spread_show(struct heddle_statement *s, struct hd_strbuf *out, struct hd_err *err);

/* ---- inside ---------------------------------------------------------------------------------- */

/* X(id, name in documents) */
#define API_EXCHANGES(X) \
    X(GATHER, "gather") \
    X(BROADCAST, "broadcast") \
    X(SHUFFLE, "shuffle") \
    X(KEEP, "keep") \
    X(RESULT, "result")
enum api_exchange {
#define X(id, name) API_EXCHANGE_##id,
    API_EXCHANGES(X)
#undef X
};
/* GPUs times passes. */
enum { API_WORKERS_MAX = 64 };
/* Of a fragment's rows, as far as estimates tell: so many come to the host as fast as they go from GPU to GPU. */
enum { API_FEW_BYTES = 32000 };

/* Rows that a fragment left, as a table. The table's struct stays the same one as long as what plans are made of does:
 * programs that read it need not be made again where it gets other rows. */
struct api_spread_table {
    struct hd_arena arena;
    struct fe_table *table; /* NULL: there was none yet */
    unsigned version; /* of the struct */
    struct rt_fragment_table *rows; /* in memory of the host; NULL: not at present */
    struct rt_gpu_columns *columns; /* on the GPU of who reads it; likewise */
    struct api_table *owner; /* of `table` in snapshots */
    uint64_t bytes;
};

/* A fragment on a worker. */
struct api_spread_part {
    struct heddle_statement *statement; /* NULL: not prepared yet */
    unsigned version; /* of the tables that it was prepared over, together */
    struct ArrowArrayStream out; /* the rows: RESULT; */
    struct rt_fragment_rows *rows; /* on the host, of a shuffle for each worker; */
    struct rt_gpu_columns *columns; /* RESULT, where it stays on the GPU; */
    struct rt_gpu_sent *sent; /* where the fragment leaves them on the GPU for others, */
    int taken; /* and tables that have theirs of these */
    atomic_bool done;
    double start_ms, end_ms; /* since the execution began */
    _Atomic double took_ms; /* in this one or else in the one before; 0: there was none */
};

struct api_spread_input {
    const char *table;
    int fragment;
};

struct api_spread_fragment {
    const char *plan;
    const char **values; /* [workers] of its parameters; NULL: none */
    bool every; /* worker runs it; else the first one */
    enum api_exchange exchange;
    const char *name; /* by which others read the rows; NULL: nobody does */
    const char *column; /* SHUFFLE: has the number of the worker */
    int ninputs;
    struct api_spread_input *inputs;
    bool reads_tables; /* of the database, too */
    bool takes_long; /* the last step, on a thread of the CPU */
    double rows, bytes, state_bytes; /* estimates; the last one of its largest state on a worker, 0: not asked for */
    double came; /* rows of all workers in the last execution that ended; 0: there was none */
    atomic_bool direct; /* its rows go from GPU to GPU */
    bool on_cpu; /* one worker runs it, and its states are too large for a GPU */
    struct api_spread_part *part; /* [workers] */
    struct api_spread_table
        *table; /* [workers] KEEP, SHUFFLE: of each worker; BROADCAST, direct: of each GPU; else the first
                                       is for all */
    atomic_int ended; /* parts */
    int last_reader; /* the last fragment that reads the rows */
};

struct api_spread {
    struct heddle_statement *of;
    struct hd_arena arena;
    int nslots, slot[RT_MAX_DEVICES]; /* of the engine's GPUs those that are not lost; on a CPU one */
    int lanes; /* the first so many of them have work: threads, on which workers take turns */
    int passes; /* workers that a GPU is, one after the other in each fragment */
    bool reads_device; /* tables in a GPU's memory, which the CPU cannot */
    bool segments; /* each worker has one: there are any number of workers, and no passes */
    int workers; /* else lanes * passes: worker w is on GPU w % lanes; 1: the plan stays on the first one */
    char why[200];
    bool divide; /* for tests: pl_distribute_options.divide */
    bool compared; /* one GPU or several, by these: */
    struct pl_devices_in numbers;
    int nfragments;
    struct api_spread_fragment *fragments;
    double room; /* passes: bytes for the states of one; 0: nobody knows */
    int cut_for; /* workers that fragments are for */
    bool lacked; /* an execution asked for more of a GPU's memory than there is, */
    int lacking; /* in this fragment */
    /* While it runs: */
    bool gives; /* the result stays on the GPU */
    double began_ms;
    struct rt_memory memory; /* for rows that go through the host's memory, */
    uint64_t host_bytes, file_bytes; /* so many, and of them in a file */
    bool executed; /* the figures of parts are of the last execution */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a part has ended, or `stopped` */
    atomic_bool stopped;
    bool failed; /* with `error` */
    struct hd_err error;
};

/* api_spread_passes.c. Of a statement for one GPU: whether its states are expected to have room there in one pass. */
int api_spread_fits(struct heddle_statement *s, bool *fits, struct hd_err *err);
/* The same of its planned program. */
int api_spread_fits_of(struct heddle_statement *s, const struct api_program *program, bool *fits, struct hd_err *err);
/* The fragment, which one worker runs, is left to the CPU from now on. False: this build has none, or it was already. */
bool api_spread_use_cpu(struct api_spread *p, struct api_spread_fragment *f);
/* Cuts the plan for as many passes over the GPU as its states are expected to need; one where more would not help. */
int api_spread_fit(struct api_spread *p, struct hd_err *err);
/* Likewise, after so many were too few. RESOURCE where there are no more. */
int api_spread_add_passes(struct api_spread *p, int passes, struct hd_err *err);
/* Columns that the plan reads have no room in the GPU's memory beside states. */
bool api_spread_streams(const struct api_spread *p);
/* The fragments of the plan, cut for p->workers; memory: bytes for the states of each, 0: what they take does not matter. */
int api_spread_cut(struct api_spread *p, double memory, struct hd_err *err);
int api_spread_runs(const struct api_spread_fragment *f, int workers); /* so many workers */
/* Of the engine's GPUs the one that worker w is on. */
int api_spread_slot(const struct api_spread *p, int w);
/* Which of the fragment's tables worker w reads. */
int api_spread_table_number(const struct api_spread *p, const struct api_spread_fragment *f, int w);
struct api_spread_table *api_spread_table_of(const struct api_spread *p, struct api_spread_fragment *f, int w);
/* The rows of all parts that go there become that table, of which those streams are nothing then. It is read on worker
 * `table`, where rows go from GPU to GPU; else on all that the exchange says. */
int api_spread_table_fill(struct api_spread *p, struct api_spread_fragment *f, int table, struct hd_err *err);
/* These rows of the fragment become the table's: of a new version if they have another shape. Addresses are the caller's. from gets
 * facts of its columns: ranges, and which are unique. */
int api_spread_use_rows(const struct api_spread *p, const struct api_spread_fragment *f, struct api_spread_table *t,
                        struct fe_table *from, struct hd_err *err);
/* Rows of the fragment, whose statement on some worker is s, go from GPU to GPU. */
bool api_spread_is_direct(const struct api_spread *p, const struct api_spread_fragment *f,
                          const struct heddle_statement *s);
/* Executes such a fragment's part; what becomes of its rows in a table. */
int api_spread_send(struct api_spread *p, struct api_spread_fragment *f, int w, struct hd_err *err);
int api_spread_receive(struct api_spread *p, struct api_spread_fragment *f, int table, struct hd_err *err);
/* Memory of rows on a thread's GPU that all readers have asked for serves others. */
void api_spread_give_back(struct api_spread *p, int lane);
/* Whether the fragment's rows are expected to be among few that such a fragment reads: by estimates, and by what came in the
 * execution before. */
bool api_spread_feeds_few(const struct api_spread *p, const struct api_spread_fragment *f);
/* Whether the fragment makes the result of few rows alone, which are on the host. */
bool api_spread_has_few(const struct api_spread *p, const struct api_spread_fragment *f);
/* Of such a fragment and a statement of it for the CPU, on one thread: whether that runs it. Plans it. If not, nobody asks
 * again. */
bool api_spread_is_few(struct api_spread_fragment *f, struct heddle_statement *s);
/* The CPU runs the fragment's part w, or has run it in the last execution. */
bool api_spread_on_cpu(const struct api_spread_fragment *f, int w);
/* The rows go; GPUs need not keep them. */
void api_spread_table_empty(struct api_spread *p, struct api_spread_table *t);
void api_spread_table_init(struct api_spread_table *t);
void api_spread_table_release(struct api_spread *p, struct api_spread_table *t);
/* The streams of the last fragment's parts one behind the other, which become nothing; columns are nullable where one of
 * theirs is. On failure they are released. */
int api_spread_concat(struct api_spread *p, struct api_spread_fragment *f, struct ArrowArrayStream *out,
                      struct hd_err *err);
/* The last fragment's rows, which its parts have left on the GPU. */
int api_spread_give(struct api_spread *p, struct ArrowDeviceArrayStream *out, struct hd_err *err);
/* How parts of the fragment, of which one has run, leave rows on the host, or tables are made of them. */
struct rt_fragment_options api_spread_how(struct api_spread *p, const struct api_spread_fragment *f,
                                          const struct heddle_statement *part);

#endif
