# The CSV loader: splitting and parsing, without files.
heddle_fuzz_target(csv LIBS heddle_store)
