# LLVM 16 or newer through its C API. Debian 12: llvm-19-dev, Ubuntu 24.04: llvm-18-dev.
set(HEDDLE_LLVM_CONFIG "" CACHE FILEPATH "llvm-config to use; empty: the newest found")
if(NOT HEDDLE_LLVM_CONFIG)
  unset(found CACHE)
  find_program(found NAMES llvm-config-22 llvm-config-21 llvm-config-20 llvm-config-19
    llvm-config-18 llvm-config-17 llvm-config-16 llvm-config)
  set(HEDDLE_LLVM_CONFIG ${found} CACHE FILEPATH "" FORCE)
endif()
execute_process(COMMAND ${HEDDLE_LLVM_CONFIG} --version OUTPUT_VARIABLE HEDDLE_LLVM_VERSION
  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed OR HEDDLE_LLVM_VERSION VERSION_LESS 16)
  message(FATAL_ERROR "LLVM 16 or newer is needed (llvm-19-dev or llvm-18-dev); found "
    "'${HEDDLE_LLVM_CONFIG}' version '${HEDDLE_LLVM_VERSION}'. scripts/test.sh installs it.")
endif()
execute_process(COMMAND ${HEDDLE_LLVM_CONFIG} --includedir OUTPUT_VARIABLE llvm_inc
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(HEDDLE_WHEEL)
  # Of the targets, this machine's alone. What LLVM could use besides (terminals, XML, solvers) is not
  # referenced by these parts.
  enable_language(CXX)
  execute_process(COMMAND ${HEDDLE_LLVM_CONFIG} --libs --link-static x86codegen passes
    bitreader bitwriter OUTPUT_VARIABLE llvm_libs OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(llvm_libs)
  list(APPEND llvm_libs -l:libzstd.a -l:libz.a -lrt -ldl -lm)
else()
  execute_process(COMMAND ${HEDDLE_LLVM_CONFIG} --libs --link-shared OUTPUT_VARIABLE llvm_libs
    OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
execute_process(COMMAND ${HEDDLE_LLVM_CONFIG} --ldflags OUTPUT_VARIABLE llvm_ld
  OUTPUT_STRIP_TRAILING_WHITESPACE)
add_library(heddle_llvm INTERFACE)
target_include_directories(heddle_llvm SYSTEM INTERFACE ${llvm_inc})
target_link_libraries(heddle_llvm INTERFACE ${llvm_ld} ${llvm_libs})
message(STATUS "LLVM ${HEDDLE_LLVM_VERSION} (${HEDDLE_LLVM_CONFIG})")
