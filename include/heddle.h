/* Heddle: a JIT query compiler. Public C API, the only public header.
 *
 * Conventions. Functions that can fail return int: 0 on success, -1 on failure, and take a
 * `heddle_error **` last (may be NULL). On failure *err, if NULL before, becomes a new error
 * object that the caller frees. Text is UTF-8. Objects are opaque. A heddle_context and a
 * heddle_database may be used from any thread; a heddle_statement and a heddle_writer's
 * appends follow the rules written beside them.
 *
 * NULL where it is not said to be allowed is an error of class user, and nothing else happens;
 * functions that return no int do nothing with NULL, or answer as for no error. Besides err, NULL
 * may be: options (all default), a progress function and its user pointer, and what a comment
 * names. On failure outputs stay as they were.
 *
 * Data crosses as the Arrow C Data Interface (https://arrow.apache.org/docs/format/CDataInterface.html).
 * Logical to Arrow: bool "b", int32 "i", int64 "l", decimal(p,s) "d:p,s" (128 bit), float32 "f", float64 "g",
 * date "tdD", timestamp "tsu:", time "ttu", string "u", binary "z", interval "tin". On input whatever Arrow has for the same
 * values is accepted, too: docs/embedding.md lists it.
 *
 * What comes in is checked before it is used, as far as the interface allows (it does not tell how
 * large a buffer is): schemas, lengths, offsets, counts, bitmaps, string offsets and UTF-8,
 * indices, decimals against their precision, dates and timestamps to lie in the years 0001 to
 * 9999, times in a day. Rows that are NULL may hold anything.
 */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HEDDLE_API __attribute__((visibility("default")))
#else
#define HEDDLE_API
#endif

#define HEDDLE_VERSION_MAJOR 0
#define HEDDLE_VERSION_MINOR 1
#define HEDDLE_VERSION_PATCH 0

/* ---- Arrow C Data Interface (verbatim ABI of the Arrow specification) ---------------- */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* ---- Arrow C Device Interface (likewise) ----------------------------------------------- */
#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE
typedef int32_t ArrowDeviceType;
#define ARROW_DEVICE_CPU          1
#define ARROW_DEVICE_CUDA         2
#define ARROW_DEVICE_CUDA_HOST    3
#define ARROW_DEVICE_OPENCL       4
#define ARROW_DEVICE_VULKAN       7
#define ARROW_DEVICE_METAL        8
#define ARROW_DEVICE_VPI          9
#define ARROW_DEVICE_ROCM         10
#define ARROW_DEVICE_ROCM_HOST    11
#define ARROW_DEVICE_EXT_DEV      12
#define ARROW_DEVICE_CUDA_MANAGED 13
#define ARROW_DEVICE_ONEAPI       14
#define ARROW_DEVICE_WEBGPU       15
#define ARROW_DEVICE_HEXAGON      16
struct ArrowDeviceArray {
    struct ArrowArray array;
    int64_t device_id;
    ArrowDeviceType device_type;
    void *sync_event;
    int64_t reserved[3];
};
#endif
#ifndef ARROW_C_DEVICE_STREAM_INTERFACE
#define ARROW_C_DEVICE_STREAM_INTERFACE
struct ArrowDeviceArrayStream {
    ArrowDeviceType device_type;
    int (*get_schema)(struct ArrowDeviceArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowDeviceArrayStream *, struct ArrowDeviceArray *out);
    const char *(*get_last_error)(struct ArrowDeviceArrayStream *);
    void (*release)(struct ArrowDeviceArrayStream *);
    void *private_data;
};
#endif

/* ---- Errors --------------------------------------------------------------------------- */
typedef struct heddle_error heddle_error;
typedef enum heddle_error_class {
    HEDDLE_ERROR_USER = 1,    /* bad plan, schema or argument */
    HEDDLE_ERROR_UNSUPPORTED, /* valid, but not something Heddle does */
    HEDDLE_ERROR_DATA,        /* bad input data */
    HEDDLE_ERROR_IO,          /* the operating system said no */
    HEDDLE_ERROR_CORRUPT,     /* a database file is damaged */
    HEDDLE_ERROR_EXECUTION,   /* overflow, division by zero, bad cast in some row */
    HEDDLE_ERROR_RESOURCE,    /* memory limit, memory that the system refuses, no device */
    HEDDLE_ERROR_CANCELLED,
    HEDDLE_ERROR_TOOL         /* LLVM or NVRTC refused; see detail */
} heddle_error_class;
HEDDLE_API heddle_error_class heddle_error_get_class(const heddle_error *e); /* 0 of NULL */
HEDDLE_API const char *heddle_error_class_name(heddle_error_class c);
HEDDLE_API const char *heddle_error_path(const heddle_error *e);    /* JSON path or file; "" if none */
HEDDLE_API const char *heddle_error_message(
    const heddle_error *e); /* one line; control characters are shown as \x1b and the like, in the path too */
HEDDLE_API const char *heddle_error_detail(const heddle_error *e);  /* may be NULL */
HEDDLE_API int heddle_error_exit_status(const heddle_error *e);     /* 1, 2 or 3 */
HEDDLE_API void heddle_error_free(heddle_error *e);

HEDDLE_API const char *heddle_version(void);
/* Frees a string or buffer that this API returned as `char **`. */
HEDDLE_API void heddle_free(void *p);

/* ---- Context: threads, memory limit, compile cache ------------------------------------ */
typedef struct heddle_context heddle_context;
typedef struct heddle_options {
    size_t struct_size;        /* sizeof(heddle_options) of the caller's header: how the library knows it */
    int threads;               /* worker threads; 0 = number of cores */
    uint64_t memory_limit; /* bytes of memory for query state, all statements together; 0 = 80 % of RAM. Executions wait
                                  for their share of a limit that is given, in the order in which they came */
    const char *cache_dir; /* compiled objects; NULL = $HEDDLE_CACHE or ~/.cache/heddle; "" = none */
    uint64_t cache_limit; /* bytes kept on disk; 0 = 256 MiB */
    const char *backend; /* "cpu"; "cuda"; "auto" or NULL = for each execution what is estimated to end first */
    int device; /* CUDA device number, where `devices` is NULL */
    int no_mmap; /* read database files into memory at first use instead of mapping them */
    const char *temp_dir; /* for state beyond a memory limit, on a CPU: see below; "" = none, such a query fails */
    uint64_t temp_limit; /* bytes of all temporary files together; 0 = what the disk has */
    const char
        *devices; /* CUDA devices: numbers such as "0,1", 8 at most, or "all". On backend cuda a query that gains by it
                            runs on all of them, each with a part of the rows (docs/scale.md); others and those of
                            backend auto run on the first. NULL = `device` */
    uint64_t device_memory; /* bytes of a GPU's memory for columns and query state; 0 = memory_limit, without one most
                               of what is free. Columns that have no room are streamed, or read over the link, and
                               states that have none are made in passes (docs/scale.md) */
    uint64_t pin; /* bytes of page-locked memory for copies of columns that are streamed to a GPU, which then takes no
                     copy of them per execution; 0 = none */
} heddle_options;
/* Temporary files. Where the caller gives a memory limit, here or for a statement, or a temp_dir, state beyond the limit is
 * in a temporary file, one for each execution, which has no name and ends with it or with the process. temp_dir NULL is
 * $TMPDIR, else /var/tmp. One that is given and cannot be written to is an error of class IO here; what happens later,
 * such as a full disk, is one of heddle_execute (class IO; temp_limit: RESOURCE). Statements that run at once share limit
 * and temp_limit. */
/* Structures of options grow at their end from one version to the next. The first member says how much of one
 * the caller has: an older header's is taken with the defaults behind its end, a newer header's must be 0 behind what
 * the library knows. These functions set all struct_size bytes to the defaults, and the member; they write nothing
 * behind. Whoever has the header calls those without a size. */
HEDDLE_API void heddle_options_init_sized(heddle_options *o, size_t struct_size);
static inline void heddle_options_init(heddle_options *o)
{
    heddle_options_init_sized(o, sizeof *o);
}
/* Where a GPU is used, the context may start a child process that compiles: the executable that
 * $HEDDLE_COMPILER names ("none": no process), else heddle-nvrtc beside the program or the library or
 * as installed. It ends with the context or with the program, and is waited for. */
HEDDLE_API int heddle_context_new(const heddle_options *o, heddle_context **out, heddle_error **err);
/* Statements, databases and writers are freed before. Waits for threads of the context, which may be opening a GPU or in the
 * middle of a compilation. */
HEDDLE_API void heddle_context_free(heddle_context *c);
/* 1: the context is getting a GPU ready behind executions of backend auto, or compiles ahead for one (heddle_context_warm),
 * which heddle_context_free would wait for: a process that ends anyway may leave it. 0: it does not. */
HEDDLE_API int heddle_context_busy(heddle_context *c);
/* JSON text about devices, NVRTC and the process that compiles with it, LLVM, cache. */
HEDDLE_API int heddle_context_info(heddle_context *c, char **json, heddle_error **err);
/* Compiles what queries on a GPU have in common into the cache: the fixed kernels, and the libraries that kernels are
 * linked with. arch: "sm_90" and so on, which needs no GPU; NULL: that of the context's GPU. JSON text: {"architecture",
 * "compiled", "found" (there already), "ms", "cache_dir"}. USER: arch is no architecture of NVRTC's, or there is no cache;
 * RESOURCE: no NVRTC, no GPU, the cache keeps nothing; TOOL: NVRTC fails. */
HEDDLE_API int heddle_context_warm(heddle_context *c, const char *arch, char **json, heddle_error **err);

/* ---- Databases ------------------------------------------------------------------------- */
typedef struct heddle_database heddle_database;
/* Opens a database directory read-only (memory-mapped, or see heddle_options.no_mmap), or the partitions of a database in
 * the directories path/partition-K, K from 0, as one (docs/storage.md). path may be NULL: an empty database that only holds
 * registered tables. At first use a file's checksum is verified, and that its content leads nowhere outside of the database.
 * flags: 0, or HEDDLE_OPEN_* added up. A file that is cut while it is mapped raises SIGBUS in whoever reads it, which no_mmap
 * avoids. */
#define HEDDLE_OPEN_TRUST \
    1 /* nothing is verified: a query on a damaged database may return anything, or crash the process */
#define HEDDLE_OPEN_PARTIAL \
    2 /* of a partition there may be catalog.json and catalog.sum alone: plans over the whole can be cut
                                 (heddle_plan_fragments), and plans over partitions that are there run
                                 (heddle_statement_options.segment); what reads another fails */
HEDDLE_API int heddle_database_open(heddle_context *c, const char *path, int flags, heddle_database **out,
                                    heddle_error **err);
HEDDLE_API void heddle_database_free(heddle_database *db);
/* The catalog as JSON (tables, columns, types, facts, indexes; of a table of segments what they come to, and `segments`). */
HEDDLE_API int heddle_database_catalog(heddle_database *db, char **json, heddle_error **err);
/* When facts of a registered table are computed: ranges, distinct values, uniqueness, by which plans are faster. LAZY: of a
 * column when a statement is planned that gains by them, once; its report and heddle_explain ("facts") tell. NOW: of all
 * columns when the table is registered. NEVER: plans do without. */
enum { HEDDLE_FACTS_LAZY = 0, HEDDLE_FACTS_NOW = 1, HEDDLE_FACTS_NEVER = 2 };
/* Registers an in-memory table from a stream; the batches are consumed and kept (zero copy
 * where the layout allows) until the database is freed or the table is dropped, and nobody may change them so long:
 * answers rely on facts. facts: one of HEDDLE_FACTS_*. The stream is released in any case, also on failure. */
HEDDLE_API int heddle_database_register(heddle_database *db, const char *table, struct ArrowArrayStream *stream,
                                        int facts, heddle_error **err);
/* The same, but a registered table of this name is replaced, if the new one is good; else it stays. */
HEDDLE_API int heddle_database_replace(heddle_database *db, const char *table, struct ArrowArrayStream *stream,
                                       int facts, heddle_error **err);
/* The same with keys, as JSON text: {"primary_key": ["a"], "foreign_keys": [{"columns": ["b"], "table": "parent", "references": ["id"]}]},
 * either of which may be missing, as in a schema (docs/storage.md). Plans use them as those of stored tables: rows are known to be unique, and
 * single columns get an index. They are checked at once, which takes about what building them does. A foreign key refers to the
 * primary key of a stored or registered table, and counts as long as that table is not dropped or replaced. keys: NULL, none.
 * replace: a registered table of this name is replaced, if the new one is good. Errors beside those of the above: USER, keys are
 * not of that form, or name what is not there; DATA, rows violate a key, with both rows, or the row and its values; UNSUPPORTED,
 * the parent has segments or is in a device's memory. */
HEDDLE_API int heddle_database_register_with_keys(heddle_database *db, const char *table,
                                                  struct ArrowArrayStream *stream, int facts, const char *keys,
                                                  int replace, heddle_error **err);
/* Registers a batch that lies in a device's memory; schema and array are taken over in any case. Device types CPU and
 * CUDA_HOST: as heddle_database_register, with lazy facts. CUDA and CUDA_MANAGED, of the context's device, whose facts are lazy, too, but of strings, for plans on backend
 * cuda alone; the producer's event is waited for. Every format that is accepted of the host is accepted but run-end encoded
 * ones, from any offset, and errors are those of the host. Of one batch, "c" "s" "i" "l" "f" "g" "d:p,s" (up to 128 bits)
 * "tdD" "tsu:" "ttu" are used where they lie, without a copy, if the first row is at a multiple of 8 times the width of a
 * value (what CUDA allocates is); of "u" "U" "z" "Z" "w:" the bytes, with 4 bytes a row made of the offsets; bitmaps whose
 * first row is at a multiple of 4 bytes. All else is converted by kernels, into memory that the table has: other numbers and
 * "b" become as wide as the column's values, dictionaries of strings 4 bytes a row (the host reads the entries), views and
 * strings of several batches are copied. Buffers begin at multiples of what a value has, 16 bytes at most. UNSUPPORTED,
 * DATA: with the column's name. The memory is read until the table is dropped or the database freed. */
HEDDLE_API int heddle_database_register_device(heddle_database *db, const char *table, struct ArrowSchema *schema,
                                               struct ArrowDeviceArray *array, heddle_error **err);
/* The same, in the place of a registered table of this name, as heddle_database_replace. */
HEDDLE_API int heddle_database_replace_device(heddle_database *db, const char *table, struct ArrowSchema *schema,
                                              struct ArrowDeviceArray *array, heddle_error **err);
/* The same of all batches of a stream, which is released in any case. They are of one kind of device. */
HEDDLE_API int heddle_database_register_device_stream(heddle_database *db, const char *table,
                                                      struct ArrowDeviceArrayStream *stream, heddle_error **err);
HEDDLE_API int heddle_database_replace_device_stream(heddle_database *db, const char *table,
                                                     struct ArrowDeviceArrayStream *stream, heddle_error **err);
/* Computes the facts of a registered table that are not known yet, of all columns (of a device's table but strings): nothing where they
 * are, where the table is stored, or with HEDDLE_FACTS_NEVER. RESOURCE: no memory. */
HEDDLE_API int heddle_database_compute_facts(heddle_database *db, const char *table, heddle_error **err);
HEDDLE_API int heddle_database_drop(heddle_database *db, const char *table, heddle_error **err);
/* Tables, stored ones first. A name stays until its table is dropped or the database freed; NULL: no such i. */
HEDDLE_API int heddle_database_table_count(heddle_database *db);
HEDDLE_API const char *heddle_database_table_name(heddle_database *db, int i);
/* The columns as a struct: names, types as results have them, what may be NULL. The caller releases it. */
HEDDLE_API int heddle_database_table_schema(heddle_database *db, const char *table, struct ArrowSchema *out,
                                            heddle_error **err);
HEDDLE_API int heddle_database_table_rows(heddle_database *db, const char *table, int64_t *out, heddle_error **err);

typedef int (*heddle_progress_fn)(void *user, double fraction, const char *what); /* non-zero: cancel */
/* Verifies every checksum and every stored fact; the report is JSON text, there also where it is
 * what failed (class corrupt), otherwise NULL. */
HEDDLE_API int heddle_database_check(heddle_context *c, const char *path, heddle_progress_fn progress, void *user,
                                     char **report, heddle_error **err);

/* ---- Writing a database ------------------------------------------------------------------
 * schema_json: {"packed"?: bool (false),"segment_rows"?: N (2147483647),"tables":[{"name","rows"?: N,"columns":[{"name","type","nullable"?: bool (false),"packed"?: bool}],
 *   "primary_key"?: ["col",...], "foreign_keys"?: [{"columns":[..],"table":"t","references":[..]}]}]}
 * Columns of numbers and dictionaries that are `packed`, by themselves or all by the schema, take as few bits a row as they need.
 * Tables of more than `segment_rows` rows are stored in segments (docs/storage.md).
 * Nothing is visible at `path` until heddle_writer_commit, which computes facts, narrows
 * columns, builds indexes and publishes the directory atomically by rename; the path must
 * not exist or be an empty directory. */
typedef struct heddle_writer heddle_writer;
HEDDLE_API int heddle_writer_open(heddle_context *c, const char *path, const char *schema_json, heddle_writer **out,
                                  heddle_error **err);
/* Stores a struct-typed batch as rows [first_row, first_row + length) of table. Any thread, any
 * order, ranges disjoint; at commit they must cover 0..rows-1 without a gap. Columns are matched
 * by name; array and schema are read during the call and stay the caller's. */
HEDDLE_API int heddle_writer_append(heddle_writer *w, const char *table, int64_t first_row,
                                    const struct ArrowSchema *schema, const struct ArrowArray *batch,
                                    heddle_error **err);
/* Loads text files table by table: every file in `from` named TABLE.tbl, TABLE.tbl.N, TABLE.csv.
 * load_json: the schema JSON above plus per table or top level "format": {"delimiter":"|",
 * "header":false,"quote":"\"" or "", "null":"" , "trailing_delimiter": true}. */
HEDDLE_API int heddle_writer_load_text(heddle_writer *w, const char *from, heddle_progress_fn progress, void *user,
                                       heddle_error **err);
HEDDLE_API int heddle_writer_commit(heddle_writer *w, heddle_progress_fn progress, void *user, heddle_error **err);
/* Also rolls back if commit did not succeed. */
HEDDLE_API void heddle_writer_free(heddle_writer *w);

/* ---- Statements -------------------------------------------------------------------------
 * One thread at a time, except heddle_statement_cancel.
 *
 * Cancelling. A cancel holds from heddle_statement_new on and is never lost: the call of prepare, bind,
 * execute or explain that works for the statement fails with HEDDLE_ERROR_CANCELLED within 0.2 s; if
 * none does, the next one. That call has reported it, and the statement can be used again: a cancelled
 * prepare may be repeated, a cancelled execute too. A stream that execute has handed out holds all its
 * rows and is not concerned. What compilers are at cannot be interrupted; threads of the context go
 * on with it and drop it, and heddle_context_free waits for them. */
typedef struct heddle_statement heddle_statement;
typedef struct heddle_statement_options {
    size_t struct_size; /* as in heddle_options */
    const char *backend; /* NULL: the context's */
    const char *balance; /* NULL or "auto", or a name of templates/balances.cuh, such as "nifs+aws" (CUDA) */
    int threads; /* 0: the context's */
    uint64_t memory_limit; /* 0: the context's */
    int profile; /* heddle_execute also runs code that counts rows, once for a plan's values and before the
                            execution that it times; the report has both */
    int no_cache; /* compile even if cached */
    uint32_t fws_threshold; /* children of a node that stay with its warp under fixed work-sharing; 0: 1024 */
    uint32_t gpu_warps; /* of every kernel's grid, in whole blocks, at least one; no more than fit at once where
                               warps wait for each other; 0: what suits the device and the source */
    uint32_t gpu_block; /* warps of a block, 1 to 8; 0: 4. Blocks that would need too much memory get less */
    int deterministic; /* with backend auto: all executions of the statement run where the first one did; on several
                               GPUs: no clock decides how many */
    const char *tier; /* of code. NULL or "auto": begin with code that is compiled in little time, go on with optimised
                               code once it is there; "first": none of it; "optimised": wait for it */
    int segment; /* 1 + the number of a segment: of tables that have segments the plan reads that one, as a table in one
                               piece. 0: all */
} heddle_statement_options;
HEDDLE_API void heddle_statement_options_init_sized(heddle_statement_options *o, size_t struct_size);
static inline void heddle_statement_options_init(heddle_statement_options *o)
{
    heddle_statement_options_init_sized(o, sizeof *o);
}
/* A statement without a plan; so that another thread can cancel heddle_statement_prepare, which
 * reads one, once. The other functions below take prepared statements only. */
HEDDLE_API int heddle_statement_new(heddle_database *db, const heddle_statement_options *o, heddle_statement **out,
                                    heddle_error **err);
HEDDLE_API int heddle_statement_prepare(heddle_statement *s, const char *plan_json, heddle_error **err);
/* Both in one. */
HEDDLE_API int heddle_prepare(heddle_database *db, const char *plan_json, const heddle_statement_options *o,
                              heddle_statement **out, heddle_error **err);
/* The same of a plan of any form, which its bytes tell: Heddle's JSON, Substrait's JSON, Substrait's binary form
 * (docs/substrait.md). They are read during the call and stay the caller's. */
HEDDLE_API int heddle_statement_prepare_plan(heddle_statement *s, const void *plan, size_t size, heddle_error **err);
HEDDLE_API int heddle_prepare_plan(heddle_database *db, const void *plan, size_t size,
                                   const heddle_statement_options *o, heddle_statement **out, heddle_error **err);
/* A plan of any form in another one: to is "json", Heddle's JSON, or of a plan of Substrait "substrait", its binary form,
 * or "substrait-json". A NUL stands behind the *out_size bytes; heddle_free frees them. Tables are not looked at. */
HEDDLE_API int heddle_convert(const void *plan, size_t size, const char *to, char **out, size_t *out_size,
                              heddle_error **err);
/* The same with tables, by whose columns and types a plan of Heddle's can be written as Substrait, too. What Substrait has
 * no form for is an error of class HEDDLE_ERROR_UNSUPPORTED with its place in the plan (docs/substrait.md). */
HEDDLE_API int heddle_database_convert(heddle_database *db, const void *plan, size_t size, const char *to, char **out,
                                       size_t *out_size, heddle_error **err);
HEDDLE_API void heddle_statement_free(heddle_statement *s);
/* The columns of the rows that heddle_execute gives, and the parameters in the plan's order: a struct
 * type each ("+s"). A list is shown as a string, its JSON text, as heddle_bind takes it. */
HEDDLE_API int heddle_statement_schema(heddle_statement *s, struct ArrowSchema *out, heddle_error **err);
HEDDLE_API int heddle_statement_parameters(heddle_statement *s, struct ArrowSchema *out, heddle_error **err);
/* Text form of the value, as in a literal of the parameter's type; NULL binds SQL NULL. A value that some place of the plan
 * does not take, such as a limit of -1, is an error, and the parameter keeps what it had. */
HEDDLE_API int heddle_bind(heddle_statement *s, const char *name, const char *value, heddle_error **err);
/* {"name": value,...} */
HEDDLE_API int heddle_bind_json(heddle_statement *s, const char *json, heddle_error **err);
/* Runs the plan. The stream owns its rows: it may outlive the statement, not the database. */
HEDDLE_API int heddle_execute(heddle_statement *s, struct ArrowArrayStream *out, heddle_error **err);
/* The same, with the rows where they were made: on the context's first GPU as one batch in its memory, or where its
 * states had no room as one of each pass (docs/scale.md; device type CUDA; all is there, so sync_event is NULL), else as heddle_execute has them (device type CPU). The device's memory is that of the
 * context, and counts against its limit until stream and batch are released, which must be before the context is freed. */
HEDDLE_API int heddle_statement_execute_device(heddle_statement *s, struct ArrowDeviceArrayStream *out,
                                               heddle_error **err);
HEDDLE_API void heddle_statement_cancel(heddle_statement *s); /* any thread */
/* stages: comma list of plan, facts, physical, pipelines, spec, backend, devices, llvm, llvm-opt, asm, cuda, ptx; NULL = "plan". */
HEDDLE_API int heddle_explain(heddle_statement *s, const char *stages, char **text, heddle_error **err);
/* The plan with its present parameters, cut for `workers` (1 to 1024) that have the database each, or with 0 for one for each
 * segment of the tables that have segments, which has that segment and all other tables: a list of fragments,
 * plans of their own over tables and over results of fragments in front of them. JSON text, which docs/scale.md
 * describes. Nothing runs. */
HEDDLE_API int heddle_plan_fragments(heddle_statement *s, int workers, char **json, heddle_error **err);
/* JSON: times in ms of the last execution, the backend that ran, why, and with "auto" what was estimated of both:
 * {"version","backend","why","estimate","threads","optimised","plan_ms","codegen_ms","open_ms","compile_ms","compile_cached","wait_ms","transfer_ms",
 *  "execute_ms","result_ms","total_ms","peak_bytes","spilled_bytes","pipelines":[...],"states":[...]}
 * and with profile more, which docs/cli.md describes (Profiles). */
HEDDLE_API int heddle_statement_report(heddle_statement *s, char **json, heddle_error **err);

#ifdef __cplusplus
}
#endif
#endif
