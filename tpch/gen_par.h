/* Runs one function on several threads at once. */
#ifndef TPCH_GEN_PAR_H
#define TPCH_GEN_PAR_H

/* Calls work(arg, i) for i = 0..threads-1, each on its own thread (the last on the caller's)
 * and waits for all.  If the system refuses a thread, the caller runs its share. */
void tg_parallel(int threads, void (*work)(void *arg, int index), void *arg);

/* Number of threads to use for a request of n: n itself, or the number of cores for n <= 0. */
int tg_thread_count(int n);

#endif
