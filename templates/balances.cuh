// How a kernel spreads its work over warps: strategies, once. Host and device number them alike, from 1 on;
// 0 leaves the choice to the planner.
//
//   X(id, name, where, shares)
//
// name    on the command line and in reports.
// where   Kernels that have it (shapes of runtime/spec.h): EVERY; SHARING, those that the planner takes where
//         work is to be shared, and ANY; ANY, the one kernel that strategies are compared with.
// shares  1: warps wait for each other's work, so the launch is cooperative. What memory it has for
//         that runtime/gpu/gpu_balance.c says.
#ifndef HDD_BALANCES_CUH
#define HDD_BALANCES_CUH

// clang-format off
#define HDD_BALANCES(X) \
    X(NONE,      "none",           EVERY,   0) /* depth first: the deepest level with a node, full warp or not */ \
    X(NIFS,      "nifs",           EVERY,   0) /* the deepest level that fills a warp (nifs.cuh) */ \
    X(FWS,       "nifs+fws",       ANY,     1) /* and long ranges go through one queue for all (fws.cuh) */ \
    X(FWS_LOCAL, "nifs+fws-local", ANY,     1) /* the same with a queue per warp */ \
    X(AWS,       "nifs+aws",       SHARING, 1) /* and busy warps donate half of their work to idle ones (aws.cuh) */ \
    X(PP,        "pp",             ANY,     0) /* push-down parallelism: children of one node at a time (DogQC) */ \
    X(PP_LR,     "pp+lr",          ANY,     0) /* and lane refill from what other nodes left (DogQC++) */ \
    X(SHUFFLE,   "shuffle",        ANY,     0) /* one child per thread, lined up in its block (Pyper without IBR) */ \
    X(SHUFFLE_IBR, "shuffle+ibr",  ANY,     0) /* and few of them in a buffer of all blocks (Pyper) */
// clang-format on

#endif
