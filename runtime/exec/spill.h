/* State beyond the memory limit: ranges of addresses that a temporary file has in place of memory.
 *
 * An execution has one file, at the first need. It has no name (O_TMPFILE; where the file system knows none, it is
 * unlinked as soon as it is there) and mode 0600, so nothing is left behind, however the process ends. A range is a
 * shared mapping of blocks that were allocated before: a full disk is an error of the call that asks for more, never a
 * signal at some later access. Code that uses the range sees memory.
 *
 * What keeps the process within its limit is that pages leave it again: their contents stay in the file, where the next
 * access finds them. A thread looks every ms how many are there, whoever asks for more or is done with a piece of work does so too, and both take
 * pages in the order of their ranges, one after the other (FIFO): a page that is in use comes back from the kernel's
 * page cache within a microsecond. When written pages go to the disk is up to the kernel, as with any file. */
#ifndef HEDDLE_RUNTIME_EXEC_SPILL_H
#define HEDDLE_RUNTIME_EXEC_SPILL_H

#include <stdatomic.h>

#include "runtime/base/err.h"
#include "runtime/base/util.h"

/* Where temporary files may be, of a context: all executions together. */
struct rt_temp {
    const char *dir;
    uint64_t limit; /* bytes of all files; UINT64_MAX: what the disk has */
    _Atomic uint64_t used;
};

/* Pages of ranges are in units of this many bytes. */
enum { RT_SPILL_UNIT = 64 << 10 };

/* Bytes that files may have at most, as far as can be told ahead, in powers of two: an upper bound for addresses. */
uint64_t rt_temp_room(const struct rt_temp *t);

struct rt_spill;
/* allowed: bytes of ranges that may be in memory now; any thread calls it. moved: how many there are, if that changed.
 * stopped: not 0 once nobody needs the memory any more; may be NULL. NULL: no memory. */
struct rt_spill *rt_spill_new(struct rt_temp *temp, uint64_t (*allowed)(void *owner),
                              void (*moved)(void *owner, int64_t bytes), void *owner, const _Atomic int *stopped);
void rt_spill_free(struct rt_spill *s);

/* n bytes, whole units, that are zero: at `at`, where the caller has reserved addresses, or, NULL, where there is room.
 * NULL: refused; rt_spill_refusal says why. Any thread. */
void *rt_spill_map(struct rt_spill *s, void *at, size_t n);
/* Gives back all ranges within [p, p + n); their addresses are reserved by nobody afterwards. */
void rt_spill_unmap(struct rt_spill *s, void *p, size_t n);
/* Whether any of n bytes at p are in the file. */
bool rt_spill_holds(struct rt_spill *s, const void *p, size_t n);
/* Brings the pages of n bytes at p into memory, as far as they are in the file: what cannot be read is an error here, where an access
 * would be a signal. UNREADABLE: rt_spill_refusal says why. Any thread. */
enum rt_spill_place { RT_SPILL_ELSEWHERE, RT_SPILL_THERE, RT_SPILL_UNREADABLE };
enum rt_spill_place rt_spill_fetch(struct rt_spill *s, const void *p, size_t n);
/* Notes that what is in the file from p on is not what was written; false, for callers. */
bool rt_spill_damaged(struct rt_spill *s, const void *p);
/* For tests: damages the file there if HEDDLE_FAULT asks for it (`flip`, `cut`). */
void rt_spill_fault(struct rt_spill *s, const void *p);
/* Looks how many pages are in memory, and waits while somebody else does. Between two pieces of work: so threads that touch
 * much are held back where the one that looks gets no processor. s may be NULL. */
void rt_spill_look(struct rt_spill *s);
/* For growing something that others may grow, too. */
void rt_spill_lock(struct rt_spill *s);
void rt_spill_unlock(struct rt_spill *s);

/* Bytes that were ever put into the file. */
uint64_t rt_spill_bytes(const struct rt_spill *s);
/* The first refusal as text, and its class: RESOURCE, the limit; IO, the system, or a file that is not as it was written. NONE:
 * there was none. */
enum hd_err_class rt_spill_refusal(const struct rt_spill *s, const char *what, char *text, size_t size);

#endif
