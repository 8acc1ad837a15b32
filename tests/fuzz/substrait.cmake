# Plans of any form.
heddle_fuzz_target(substrait LIBS heddle_frontend ALSO ${CMAKE_SOURCE_DIR}/tests/unit/frontend/plans)
