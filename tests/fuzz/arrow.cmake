# Arrow batches on every way into a table.
heddle_fuzz_target(arrow LIBS heddle_store)
