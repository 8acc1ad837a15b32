# The bench of compiling takes what `heddle explain` prints: one repetition on a query's sources.
execute_process(COMMAND ${HEDDLE} explain ${PLAN} --db ${DB} --dump cuda
  OUTPUT_FILE ${OUT} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BENCH} 90 2 1 ${OUT} COMMAND_ERROR_IS_FATAL ANY)
