/* A write beyond RLIMIT_FSIZE raises SIGXFSZ, which by default ends the process. Between begin and end
 * it is EFBIG alone, for this thread, and the host's handling of signals stays as it is. */
#ifndef HEDDLE_BASE_BIGFILE_H
#define HEDDLE_BASE_BIGFILE_H

#include <signal.h>
#include <stdbool.h>

struct hd_bigfile {
    sigset_t mask; /* before */
    bool pending;  /* so it was: not ours */
};
void hd_bigfile_begin(struct hd_bigfile *b);
void hd_bigfile_end(const struct hd_bigfile *b); /* keeps errno */

#endif
