/* Gates: places where a thread waits until a test lets it pass, or fails it; and a compiler behind one. */
#ifndef HEDDLE_TESTS_SIMT_GATES_H
#define HEDDLE_TESTS_SIMT_GATES_H

#include <pthread.h>

#include "runtime/gpu/compiler.h"

enum gate { SHUT, PASS, FAIL };

/* Of all gates and the numbers of those who came to them. */
extern pthread_mutex_t gates_lock;
extern pthread_cond_t gates_changed;

void set(enum gate *g, enum gate to);
/* Waits while the gate is shut; one more came to it. */
enum gate pass(const enum gate *g, int *count);
int number(const int *count);
void wait_for(const int *count, int at_least);

/* What `open_compiler` gives: the host's compiler, to which a source goes that passes, and which is broken for others. */
int gated_compiler(enum gate (*passes)(const char *source), struct rt_compiler **out, struct hd_err *err);

/* After 30 ms; pthread_join(let_pass(&g), NULL) before the end. */
pthread_t let_pass(enum gate *g);

#endif
