# Patterns of regular expressions, of like and ilike, walked over texts; formats of times.
heddle_fuzz_target(pattern LIBS heddle_exec heddle_frontend)
heddle_fuzz_target(format LIBS heddle_frontend)
