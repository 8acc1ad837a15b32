/* One state of a device and rows that are put into it, for tests of states. A kernel that fills a state is played by
 * uploads: rows that have room are stored, all are counted. */
#ifndef HEDDLE_TESTS_SIMT_STATE_ROWS_H
#define HEDDLE_TESTS_SIMT_STATE_ROWS_H

#include "tests/simt/states.h"

/* One state with the columns of `shape`, a letter each: b i l h d s, upper case: nullable; the
 * last column is a number of its own for each row. */
struct table {
    struct states_bench b;
    struct rt_state s;
    struct rt_spec spec;
    struct rt_gpu_state live;
    struct hd_arena arena;
    unsigned char *rows, *device_rows; /* texts at addresses of the host, of the device */
    uint64_t n;
    int id; /* offset of the row's number */
};

/* Length of the strings that are drawn, at most. */
extern uint64_t text_bytes;

uint64_t draw(void); /* a random number, the same in each run */
void table_init(struct table *t, enum rt_state_kind kind, const char *shape);
/* And checks that nothing of the device's memory is left. */
void table_release(struct table *t);
/* n rows with values of about `kinds` kinds. */
void draw_rows(struct table *t, uint64_t n, uint64_t kinds);
/* Plays a pipeline that appends rows from..to, again and again until they have room. Gives the
 * number of retries. */
int append(struct table *t, uint64_t from, uint64_t to);
void finish(struct table *t);
void download(struct table *t, void *to, uint64_t from, size_t n);
/* The finished rows; each is one of those that were appended, none is there twice. Their texts
 * are the host's. seen: by number. Heads of a HASH are left as they are. */
unsigned char *finished(struct table *t, bool **seen, const char *what);
/* A finished row as it was appended. */
const unsigned char *appended(const struct table *t, const unsigned char *row);

/* A HASH: its slots; the one of an appended row's key, 0: none; how many of the finished rows a slot stands for. */
uint64_t *slots_of(struct table *t);
uint64_t probe_slots(const struct table *t, const uint64_t *slots, const unsigned char *rows, const unsigned char *row);
uint64_t slot_rows(const struct table *t, const unsigned char *rows, uint64_t slot);

#endif
