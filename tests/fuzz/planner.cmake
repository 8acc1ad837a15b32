# Whole plans through planner and both emitters.
if(TARGET heddle AND TARGET PkgConfig::CJSON)
  heddle_fuzz_target(planner SOURCES fuzz_database.c fuzz_mutate.c
    LIBS heddle PkgConfig::CJSON
    ALSO ${CMAKE_SOURCE_DIR}/tests/simt/plans)
  add_executable(mutate_plan mutate_plan.c fuzz_mutate.c)
  target_link_libraries(mutate_plan PRIVATE PkgConfig::CJSON heddle_warnings)
endif()
