/* What is done behind executions: the GPU is opened, code is compiled for it, columns are uploaded. One thread of the context
 * does it, one program after the other; it is started when there is something to do. What fails is kept for the report
 * (api_history.h) and fails nobody. */
#ifndef HEDDLE_API_BACKGROUND_H
#define HEDDLE_API_BACKGROUND_H

#include "api/api_statement.h"

struct api_background;
struct api_background *api_background_new(heddle_context *c, struct api_engine *e); /* NULL: no memory */
/* Cancels what is being done (but for optimised code that has a cache), drops the rest, and waits: for what compilers are at it is rt_thread_pool_free that does. NULL
 * is fine. */
void api_background_free(struct api_background *b);

/* An emitted program of a backend that has `late`. What is there already, by its key, is not added again; where there is too
 * much to do or the system refuses a thread, nothing is added. */
void api_background_add(struct api_background *b, struct api_program *p, const heddle_database *db, uint64_t key,
                        int threads);
/* Optimised code for a program that executes in its first tier: p->optimise.state says what becomes of it. Once somebody is
 * at it, it is finished, also while a database or context is freed, because it goes to the cache on disk; without such a
 * cache it is dropped then. */
void api_background_optimise(struct api_background *b, struct api_program *p, const heddle_database *db, int threads);
/* Once in the life of a context: what programs have in common is compiled, too, piece by piece, whenever there is nothing else
 * to do. `late` is of a backend that is open. */
struct api_late;
void api_background_warm(struct api_background *b, const struct api_late *late);
/* Afterwards nothing of the database is in use. */
void api_background_leave(struct api_background *b, const heddle_database *db);
bool api_background_busy(struct api_background *b);

#endif
