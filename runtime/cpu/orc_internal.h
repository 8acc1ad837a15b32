/* What the compiling and the linking half of the LLVM adapter share. */
#ifndef HEDDLE_RUNTIME_CPU_ORC_INTERNAL_H
#define HEDDLE_RUNTIME_CPU_ORC_INTERNAL_H

#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>

#include "runtime/base/err.h"
#include "runtime/spec.h"

/* Consumes e and turns it into an error of class TOOL; returns -1. */
int rt_llvm_fail(LLVMErrorRef e, const char *what, struct hd_err *err);
/* A target machine for this host, the caller's; NULL: error set. */
LLVMTargetMachineRef rt_llvm_machine(enum rt_tier tier, struct hd_err *err);

#endif
