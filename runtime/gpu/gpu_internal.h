/* Internal to the device executor: the live form of a program while it runs on a device.
 *
 *   gpu.c          a device with what is kept on it between executions
 *   gpu_exec.c     the schedule, its statistics
 *   gpu_timeline.c what the device did from when to when
 *   gpu_launch.c   a pipeline: grid, launch, retries
 *   gpu_outcome.c  what launches leave behind: progress, failures; waiting for it, cancelling
 *   gpu_args.c     the args vector with device addresses
 *   gpu_modules.c  code that is loaded
 *   gpu_code.c     a program's code: loaded, on disk or compiled
 *   gpu_sources.c  which units are compiled together
 *   gpu_warm.c     code that no program brings, compiled ahead
 *   gpu_ahead.c    compiling while the device opens
 *   gpu_known.c    what the cache remembers of a device that is not open
 *   gpu_ready.c    what of a program is on the device, and bringing it there before it runs
 *   gpu_resident.c columns on the device, shared by executions, evicted when memory is short
 *   gpu_host.c     page-locked memory of the host: copies of columns, what chunks are staged in
 *   gpu_copy.c     copies to it, by several threads
 *   gpu_stream.c   scans of columns that are not on the device, chunk by chunk
 *   gpu_pool.c     device memory that is kept for the next who asks
 *   gpu_memory.c   an execution's memory, of the pool, accounted against its limit
 *   gpu_state.c    a state's life: init, retry, finish, free; gpu_state.h lists the files that it stands on
 *                  (kernels: templates/finish)
 *   gpu_exchange.c states between devices
 *   gpu_sent.c     rows of a result that other devices read (gpu_sent_text.c: their strings)
 *   gpu_receive.c  such rows as columns of a table
 *   gpu_few.c      a result of few rows, which comes with the outcome of the pipeline that makes it
 *   gpu_result.c   the rows of the result state, brought to the host
 */
#ifndef HEDDLE_RUNTIME_GPU_INTERNAL_H
#define HEDDLE_RUNTIME_GPU_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/exec/source.h"
#include "runtime/gpu/gpu.h"
#include "templates/launch.cuh"

/* A piece of device memory; address 0: none. */
struct rt_piece {
    uint64_t address;
    size_t n;
    bool part; /* of memory that was cleared at once (gpu_memory.c), with which it goes */
};

/* ---- what is kept between executions (gpu.c) ------------------------------------------- */

struct rt_gpu_pool; /* gpu_pool.c */
struct rt_gpu_residents;
struct rt_gpu_host;
struct rt_gpu_stream;
struct rt_gpu_modules;
struct rt_gpu_module;

struct rt_gpu {
    struct rt_device *d;
    struct rt_compiler *compiler;
    pthread_mutex_t lock; /* all but compiling: one thread uses the device */
    struct rt_gpu_pool *pool;
    struct rt_gpu_residents *residents;
    struct rt_gpu_host *host;
    struct rt_gpu_modules *modules;
    void *landing; /* page-locked: outcomes of launches on the host (gpu_outcome.c); NULL: not yet */
    _Atomic int compiling; /* executions that wait for code */
    _Atomic unsigned life; /* of the device: ends where it is lost, and with it all that is kept */
};
/* Takes the lock if it is free within so many nanoseconds, less than a second. */
bool rt_gpu_lock_within(struct rt_gpu *g, long ns);
void rt_gpu_enter(struct rt_gpu *g); /* lock, and the device for this thread */
/* Likewise; a lost device is made anew before. CANCELLED if stop (may be NULL) is set while others have it. */
int rt_gpu_begin(struct rt_gpu *g, const struct hd_stop *stop, struct hd_err *err);
void rt_gpu_leave(struct rt_gpu *g);
/* Of several devices that were begun, the calling thread uses this one from here to there. */
void rt_gpu_step_in(struct rt_gpu *g);
void rt_gpu_step_out(struct rt_gpu *g);
double rt_gpu_now_ms(void); /* of the host's steady clock */

/* ---- an execution ---------------------------------------------------------------------- */

/* A state while the program runs. Addresses are the device's. What is set after FINISH is
 * marked; the layouts are those of runtime/spec.h and templates/abi.def. */
struct rt_gpu_state {
    const struct rt_state *s;
    struct rt_piece rows_at;       /* rows while they are appended; dense rows; groups */
    struct rt_piece moved;         /* rows after sorting or grouping, if not in place */
    struct rt_piece bits_at, matches_at, fields_at, offsets_at, slots_at, strings_at;
    uint64_t rows, nrows;          /* finished: address of row 0, number of rows */
    uint64_t capacity;             /* rows there is room for while filling */
    uint64_t mask;                 /* HASH (finished), AGG_HASH: slots - 1; where these are rows no power of two */
    uint64_t *field, *valid;       /* DIRECT: addresses of the arrays, per field; 0 none */
    uint64_t asked;                /* rows there are while filling, as rt_gpu_state_full found */
    uint64_t count_at;             /* not 0: address of their number. The host has not seen it: asked, and nrows where
                                      they follow from it, are bounds */
    bool left_alone; /* a launch that fills it was left alone: until the host waits, and finds that it was not
                                      cancelled, rows may be missing, and only kernels that look at an abort word may read them */
    bool guessed; /* so many as were left alone by a guess may be far more than came */
    uint64_t before; /* rows appended by earlier pipelines: a retry starts again from here */
    int64_t bound; /* ROWS, bounded: no row that stays is beyond it */
    struct rt_piece snapshot; /* its contents before the running pipeline, if an earlier one filled it and it
                                      is not appended to */
    struct rt_piece marked; /* its match bits before the running pipeline */
    bool started, finished;
    bool sparse; /* rows are slots: groups and free rows; else the groups are the first rows */
    bool overflowed; /* its pipelines ran again for more room */
};

/* Rows of a finished state, but for those that are free. */
static inline uint64_t rt_gpu_state_rows(const struct rt_gpu_state *v)
{
    return v->sparse ? v->asked : v->nrows;
}

/* What a launch leaves behind: progress, and the cursors of the heap of strings and of the sink, on lines of their own; between
 * them that of tiles, where it has no more. */
struct rt_outcome {
    struct hdd_progress progress;
    struct hdd_cursor tiles;
    uint64_t string_cursor;
    uint64_t apart[16], sink_cursor;
    uint64_t text_bytes; /* of a result of few rows: bytes of its strings */
};

/* A launch whose outcome the host has not seen, or not always. */
struct rt_launched {
    struct rt_kernel_stats *stats;
    uint64_t heap; /* bytes for the strings that it makes */
    struct rt_gpu_state *counted; /* whose count_at is in its outcome; NULL: none */
    const struct rt_gpu_state *source; /* whose count_at was read; NULL: none */
    uint64_t *source_rows; /* to which its rows are added once they are known */
    uint64_t room; /* rows that its sink has room for, if it may have brought more; 0: it cannot have */
    rt_event *from, *to; /* NULL: not recorded */
};
enum { RT_OUTCOMES = 32 };
struct rt_gpu_outcomes {
    struct rt_piece
        slots; /* behind the cursors of their launches; and behind the last one that is used, a result of few rows */
    uint32_t ncursors; /* of tiles, of each launch; in front of the slots, or one in each */
    bool overwritten; /* slots that are not used, by such a result */
    int used, settled,
        timed; /* slots of launches, in their order; of those that the host has waited for; of those whose
                                 time it has asked for */
    struct rt_launched launched[RT_OUTCOMES];
};

/* A result of few rows, behind the outcomes of launches (gpu_few.c). */
enum { RT_FEW_BYTES = 1 << 16 };
struct rt_gpu_few {
    bool on; /* the result is expected to be of few rows */
    bool last; /* the launch that comes is the last one before the result's finish */
    bool queued; /* behind the last launch, if its outcome is what is hoped for, */
    bool there; /* and it was: */
    uint64_t n, text_bytes; /* rows, bytes of their strings */
    uint64_t max, room; /* rows there may be, rows there is room for once limit and offset have had their say */
    uint64_t text, text_room; /* where strings begin, behind rows; bytes for them */
    size_t bytes; /* of all, behind the outcomes */
    unsigned char *landed; /* on the host; addresses of strings in rows are offsets from where these begin */
    rt_event *ended;
    struct rt_piece more[2];
};

/* Memory of an execution that is cleared at once, before anybody asks for it, and given away in parts: clearing a part by
 * itself takes longer than what most parts are for. */
enum { RT_ZEROS_MAX = 4 };
struct rt_gpu_zeros {
    bool on;
    int n;
    struct rt_piece at[RT_ZEROS_MAX];
    size_t used; /* of the last one */
};

/* A program on one device. */
struct rt_gpu_exec {
    int number; /* of the device, as actions name it */
    struct rt_gpu *g;
    struct rt_device *d; /* g's */
    const struct rt_spec *spec;
    struct hd_arena *arena; /* of the size of the spec */
    struct rt_gpu_state *state; /* per spec state */
    uint64_t used, peak, limit; /* bytes of states; limit 0: the pool's */
    uint64_t first_rows; /* not 0: rows that states have room for at first, in place of the planner's
                                    estimate (tests of overflow) */
    bool guesses; /* launches may be left alone because executions before brought no more rows than there is room for */
    bool overrun; /* one of these brought more: the execution begins anew */
    bool watched; /* the kernels of the finish that runs take long: who cancels waits for one alone */
    /* The schedule's own: */
    const struct rt_gpu_code *code;
    const struct rt_gpu_run_options *o;
    struct rt_exec_stats *stats;
    uint64_t *words; /* the args vector */
    struct rt_piece constants; /* strings, sets and patterns of the args vector */
    struct rt_gpu_zeros zeros;
    struct rt_gpu_outcomes outcomes;
    struct rt_gpu_few few;
    struct rt_piece scratch; /* what a launch needs besides, whatever is in it */
    struct rt_piece counters;
    struct rt_piece chunks; /* of pipelines that stream */
    struct rt_gpu_stream *stream; /* what the running pipeline streams; NULL: nothing */
    struct rt_piece far_words; /* the args vector on the device, for kernels that want it there */
    struct rt_gpu_strings *strings; /* made by kernels; they live as long as the execution */
    const char *queued; /* what was queued first since something was waited for; NULL: nothing */
    rt_event *began,
        *ended; /* ended: of what the schedule does, unless few rows of the result came with it; NULL: not yet */
    double began_ms;
    struct rt_gpu_span *spans, *last_span; /* in the order in which they began */
};

/* ---- memory (gpu_pool.c) ---------------------------------------------------------------
 * Freed pieces are kept for the next request of about that size: taking costs a search, no call
 * of the driver. Work is queued in order, so a piece may be given while kernels that use it are
 * still queued. */
int rt_gpu_pool_new(struct rt_device *d, uint64_t budget, bool direct, struct rt_gpu_pool **out, struct hd_err *err);
void rt_gpu_pool_free(struct rt_gpu_pool *p);
void rt_gpu_pool_clear(struct rt_gpu_pool *p); /* gives kept pieces back to the device */
/* False: the budget or the device is exhausted, whatever is freed of the pool's own. */
bool rt_gpu_pool_alloc(struct rt_gpu_pool *p, size_t n, struct rt_piece *out);
void rt_gpu_pool_release(struct rt_gpu_pool *p, struct rt_piece *piece);
uint64_t rt_gpu_pool_budget(const struct rt_gpu_pool *p);
bool rt_gpu_pool_is_direct(const struct rt_gpu_pool *p); /* every piece is an allocation of the device's own */

/* gpu_memory.c: for an execution; columns that it does not read make room. RESOURCE error names the state's
 * path (NULL: none). */
int rt_gpu_alloc(struct rt_gpu_exec *x, const struct rt_state *s, size_t n, struct rt_piece *out, struct hd_err *err);
/* The same, n > 0, of zeros. */
int rt_gpu_alloc_zeroed(struct rt_gpu_exec *x, const struct rt_state *s, size_t n, struct rt_piece *out,
                        struct hd_err *err);
void rt_gpu_release(struct rt_gpu_exec *x, struct rt_piece *p); /* empties p */
void rt_gpu_zeros_release(struct rt_gpu_exec *x); /* of which nothing is in use */
/* Bytes that the execution may take at most, columns aside. */
uint64_t rt_gpu_limit(const struct rt_gpu_exec *x);

/* ---- columns on the device (gpu_resident.c) -------------------------------------------- */

/* A part of a table, by the table's number, which is never used again in a process. */
struct rt_part_key {
    uint64_t table;
    enum rt_arg_kind kind;
    int part; /* column, key index or foreign key */
};
struct rt_part_key rt_part_key_of(const struct rt_arg *a);
static inline bool rt_part_key_equal(struct rt_part_key a, struct rt_part_key b)
{
    return a.table == b.table && a.kind == b.kind && a.part == b.part;
}

int rt_gpu_residents_new(struct rt_gpu *g, struct hd_err *err);
void rt_gpu_residents_free(struct rt_gpu *g);
void rt_gpu_residents_clear(struct rt_gpu *g);
/* Columns of the table are no longer needed. */
void rt_gpu_residents_forget(struct rt_gpu *g, uint64_t table_id);
/* Executions follow each other: what the present one used is not evicted. */
void rt_gpu_residents_begin(struct rt_gpu *g);
/* Parts that were uploaded so far, by whomever. */
uint64_t rt_gpu_residents_filled(const struct rt_gpu *g);
/* Address of the part of a table that a (of kind COL_*, DICT_*, KEYIDX_ROWS, FK_*) names, 0 where
 * the table has none; uploaded if it is not there. */
int rt_gpu_resident(struct rt_gpu *g, const struct rt_arg *a, uint64_t *address, struct hd_err *err);
/* The same of a part of which at most those rows are read (COL_*, of FK_OFFSETS rows of the parent): the address is that of
 * row 0, which need not be there. */
int rt_gpu_resident_rows(struct rt_gpu *g, const struct rt_arg *a, struct rt_source_rows rows, uint64_t *address,
                         struct hd_err *err);
/* Bytes of device memory that an argument's part takes: 0 if the table has none, or is on a device itself. */
uint64_t rt_gpu_resident_bytes(const struct rt_arg *a);
bool rt_gpu_is_resident(struct rt_gpu *g, const struct rt_arg *a);
/* Uploads the part if it is not there, unless something else would have to go: then room is false. */
int rt_gpu_resident_fetch(struct rt_gpu *g, const struct rt_arg *a, bool *room, struct hd_err *err);

/* ---- page-locked memory of the host (gpu_host.c) ------------------------------------------ */

/* pin: bytes that copies for streaming may take, 0: there are none such. */
int rt_gpu_host_new(struct rt_gpu *g, uint64_t pin, struct hd_err *err);
void rt_gpu_host_free(struct rt_gpu *g);
void rt_gpu_host_clear(struct rt_gpu *g);
void rt_gpu_host_forget(struct rt_gpu *g, uint64_t table_id);
void rt_gpu_host_begin(struct rt_gpu *g); /* an execution: what it uses is not evicted */
/* The page-locked copy of a part, with what rt_gpu_resident_bytes has behind it, made if it is not there: wanted in any
 * case, else as far as there is room for copies. Kernels may read it by its address. *out NULL: there is none. */
int rt_gpu_host_copy(struct rt_gpu *g, const struct rt_arg *a, bool wanted, const struct rt_gpu_run_options *o,
                     const unsigned char **out, struct hd_err *err);
/* n bytes to stage chunks in, until the next call. */
int rt_gpu_staging(struct rt_gpu *g, size_t n, unsigned char **p, struct hd_err *err);

/* Frees the least recently used columns on the device, at least n bytes. False: there are not as many. */
bool rt_gpu_evict(struct rt_gpu *g, size_t n);

/* ---- code (gpu_modules.c, gpu_code.c) -------------------------------------------------- */

int rt_gpu_modules_new(struct rt_gpu *g, const struct rt_gpu_options *o, struct hd_err *err);
void rt_gpu_modules_free(struct rt_gpu *g);
void rt_gpu_modules_clear(struct rt_gpu *g); /* code in use becomes invalid */
struct rt_kernel {
    rt_function *f;
    struct rt_function_info info;
    const struct rt_unit *unit;
    uint64_t *room, *seen,
        *heap; /* of the loaded function, under the device's lock: what programs with it had to have */
};
/* Of a block, given at the launch. */
static inline uint32_t rt_gpu_shared_bytes(const struct rt_device_info *d, const struct rt_unit *u)
{
    return u->shared_fits && u->shared_bytes > d->shared_bytes ? d->shared_bytes : u->shared_bytes;
}
const struct rt_kernel *rt_gpu_code_kernel(const struct rt_gpu_code *c, int pipeline);

/* ---- the args vector (gpu_args.c) ------------------------------------------------------ */

/* Makes the vector; columns that are not on the device are uploaded. */
int rt_gpu_args_columns(struct rt_gpu_exec *x, struct hd_err *err);
/* Strings, sets and patterns of the plan. */
int rt_gpu_args_constants(struct rt_gpu_exec *x, struct hd_err *err);
/* The words that depend on states: before every launch. */
void rt_gpu_args_resolve(struct rt_gpu_exec *x);

/* ---- outcomes of launches (gpu_outcome.c) ----------------------------------------------- */

/* The addresses of a cleared struct rt_outcome for a launch that is to be queued, and of its cleared cursors. */
int rt_gpu_outcome_take(struct rt_gpu_exec *x, const struct rt_launched *l, uint64_t *slot, uint64_t *cursors,
                        struct hd_err *err);
struct rt_launched *rt_gpu_outcome_last(struct rt_gpu_exec *x); /* the one that was taken last */
/* Waits for all that is queued; the first failure of a launch is an error, and so is an overrun. *last (may be NULL): of the last one. If the
 * execution is cancelled, kernels are told and the error is CANCELLED. */
int rt_gpu_outcomes_settle(struct rt_gpu_exec *x, struct rt_outcome *last, struct hd_err *err);
int rt_gpu_outcomes_times(struct rt_gpu_exec *x,
                          struct hd_err *err); /* of launches that were settled, into their stats */
void rt_gpu_outcomes_release(struct rt_gpu_exec *x);
/* What lies behind the last slot, up to RT_FEW_BYTES, on the device, and where it will be on the host. */
bool rt_gpu_outcomes_have_few(const struct rt_gpu_exec *x); /* there is room for it */
uint64_t rt_gpu_outcomes_end(const struct rt_gpu_exec *x);
unsigned char *rt_gpu_outcomes_landing(const struct rt_gpu_exec *x);
/* Queues that n bytes from there, which begin and end with whole words, come to the landing. */
int rt_gpu_outcomes_land(struct rt_gpu_exec *x, unsigned char *to, uint64_t from, size_t n, struct hd_err *err);

/* ---- a result of few rows (gpu_few.c) ---------------------------------------------------- */

/* Whether the result is expected to be such: as in executions before, or as the planner says, if its code is there. */
bool rt_gpu_few_expected(struct rt_gpu_exec *x);
/* Behind a launch with that outcome and bytes for strings that it makes, which fills the state: where it is a result of few rows that nobody else adds to, and
 * the host shall have it. */
int rt_gpu_few_queue(struct rt_gpu_exec *x, int state, uint64_t outcome, uint64_t heap, struct hd_err *err);
/* Whether it is there, as the outcome of a launch that had room for all says. */
void rt_gpu_few_look(struct rt_gpu_exec *x, int state, const struct rt_outcome *out);
void rt_gpu_few_finish(struct rt_gpu_exec *x, struct rt_gpu_state *v);
void rt_gpu_few_release(struct rt_gpu_exec *x);

/* ---- launches (gpu_launch.c) ----------------------------------------------------------- */

/* A piece of memory with strings that a kernel made. */
struct rt_gpu_strings {
    struct rt_piece piece;
    struct rt_gpu_strings *next;
};
int rt_gpu_pipeline_run(struct rt_gpu_exec *x, int pipeline, struct rt_fragment f, struct hd_err *err);
/* gpu_room.c: rows, indexes or codes of its source, which is finished. */
uint64_t rt_gpu_source_rows(const struct rt_gpu_exec *x, const struct rt_pipeline *p);

/* ---- states. Called by the schedule:
 * start   before each pipeline that fills the state: the first time it allocates for the estimate and clears;
 *         later times it remembers what is there, so that a retry can undo the pipeline. reruns: the pipeline
 *         may have to run again for other reasons than this state
 * sink    what the kernel gets; cursor: address of a word that holds rt_gpu_state_cursor before the launch
 * full    after a launch, with what the cursor is then: *needed is 0, or the number of rows the state must have room for; then
 * filled  or, where there was room for all, so that the rows are what everybody else expects
 * retry   undoes the pipeline and makes room for that many (0: it was something else that was missing); the
 *         schedule launches again
 * finish  RT_FINISH      release RT_FREE and the end */
int rt_gpu_state_start(struct rt_gpu_exec *x, int state, bool reruns, struct hd_err *err);
uint64_t rt_gpu_state_cursor(const struct rt_gpu_exec *x, int state);
void rt_gpu_state_sink(const struct rt_gpu_exec *x, int state, uint64_t cursor, struct hdd_sink_state *out);
int rt_gpu_state_full(struct rt_gpu_exec *x, int state, uint64_t cursor, uint64_t *needed, struct hd_err *err);
/* ROWS, bounded, partly filled: what its first rows (`most` at most) say of the word that no row is beyond. */
int rt_gpu_state_bound(struct rt_gpu_exec *x, int state, uint64_t most, struct hd_err *err);
int rt_gpu_state_filled(struct rt_gpu_exec *x, int state, struct hd_err *err);
/* Whether a launch that brings at most so many rows may fill the state without the host seeing how many: there is room for
 * all, and nobody has their number for an argument. */
bool rt_gpu_state_may_be_uncounted(const struct rt_gpu_exec *x, int state, uint64_t rows);
/* Whether as many rows as executions before brought have room in the state; how many more it has room for. */
bool rt_gpu_state_is_guessed(const struct rt_gpu_exec *x, int state);
uint64_t rt_gpu_state_room(const struct rt_gpu_exec *x, int state);
/* Instead of `full` and `filled`: so many more rows, or (count_at is not 0) at most so many, as the word there says. */
int rt_gpu_state_uncounted(struct rt_gpu_exec *x, int state, uint64_t rows, uint64_t count_at, struct hd_err *err);
/* Waits if the host has not seen the number of the state's rows. */
int rt_gpu_state_count(struct rt_gpu_exec *x, const struct rt_gpu_state *v, struct hd_err *err);
int rt_gpu_state_retry(struct rt_gpu_exec *x, int state, uint64_t needed, struct hd_err *err);
int rt_gpu_state_finish(struct rt_gpu_exec *x, int state, struct hd_err *err);
/* Match bits that a pipeline sets in other states than its sink: kept before it, brought back before it runs again. */
int rt_gpu_marks_keep(struct rt_gpu_exec *x, int state, struct hd_err *err);
int rt_gpu_marks_undo(struct rt_gpu_exec *x, int state, struct hd_err *err);
void rt_gpu_state_free(struct rt_gpu_exec *x, int state);
/* RT_EXCHANGE (gpu_exchange.c): x receives what `from` has. x's stream waits for what `from` has queued already. */
int rt_gpu_exchange(struct rt_gpu_exec *x, struct rt_gpu_exec *from, int state, enum rt_exchange how,
                    struct hd_err *err);

/* ---- fixed kernels (templates/finish/<module>.cu): compiled like pipelines, cached like them ---- */
enum { RT_FIXED_MAX = 40 };
/* Rows of a result whose strings one launch brings together. */
enum { RT_STRINGS_AT_ONCE = 1 << 14 };
/* Modules that the program's states will most probably need, the others are compiled when they are; any_rows: all that
 * they may need. */
int rt_gpu_fixed_modules(const struct rt_spec *spec, const struct rt_device_info *info, bool any_rows,
                         const char *names[RT_FIXED_MAX]);
/* All of these, two that no state asks for, and the libraries: 0 .. RT_WARM_MAX - 1, by how soon a query will ask. */
enum { RT_WARM_MAX = RT_FIXED_MAX + 2 + RT_NLIBRARIES };
const char *rt_gpu_warm_name(int i);
const char *rt_gpu_library_name(int library); /* enum rt_library */
/* templates/finish/<module>.cu, templates/<library>.cu */
const char *rt_gpu_fixed_text(const char *module);
/* The same module in its first tier: the same kernels, which NVRTC compiles in two thirds of the time. Heap; NULL: no memory. */
char *rt_gpu_fixed_first(const char *module);
/* Processor time that NVRTC 13.0 takes for a source, in milliseconds, as far as its name and text tell: what takes longest is
 * begun with first (docs/performance.md, "First tier on a GPU"). */
double rt_gpu_expected_ms(const char *name, const char *text);
int rt_gpu_finish_function(struct rt_gpu_exec *x, const char *module, const char *entry, rt_function **out,
                           struct hd_err *err);
bool rt_gpu_finish_is_there(struct rt_gpu_exec *x, const char *module); /* it needs no compiler */

/* ---- result (gpu_result.c): how many rows the finished ROWS state has. The execution's taker, if there is one, gets them piece by
 * piece in host memory, strings included: addresses in STR fields are host addresses. */
int rt_gpu_rows_to_taker(struct rt_gpu_exec *x, int state, uint64_t *nrows, struct hd_err *err);
/* gpu_columns.c: those of the result's state as columns, which stay on the device. */
int rt_gpu_rows_to_columns(struct rt_gpu_exec *x, struct rt_gpu_columns **out, struct hd_err *err);
/* gpu_sent.c: likewise, as what other devices read. */
int rt_gpu_rows_to_sent(struct rt_gpu_exec *x, const struct rt_gpu_send *how, struct hd_err *err);

#endif
