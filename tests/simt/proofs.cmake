# Proofs of what warps agree on: every interleaving of a few warps (explore), and
# ThreadSanitizer with a thread per warp (threads), both on the headers themselves over the
# machine of solo.cuh; and each fails when a bug is planted in the headers.
set(solo_dir ${CMAKE_CURRENT_BINARY_DIR}/solo)
foreach(header ${device_headers})
  get_filename_component(name ${header} NAME)
  configure_file(${header} ${solo_dir}/hd/${name} COPYONLY)
endforeach()
configure_file(solo.cuh ${solo_dir}/hd/machine.cuh COPYONLY)

add_library(simt_solo STATIC solo.c fiber.c)
target_link_libraries(simt_solo PRIVATE heddle_warnings PUBLIC heddle_gpu heddle_base)

set(solo_flags ${kernel_flags})
if(HEDDLE_TSAN)
  list(APPEND solo_flags -fsanitize=thread)
  set(proof threads)
  set(proof_label tsan)
else()
  set(proof explore)
  set(proof_label full)
endif()
add_executable(simt_${proof} ${proof}.cc)
target_include_directories(simt_${proof} PRIVATE ${solo_dir} ${CMAKE_SOURCE_DIR})
target_compile_options(simt_${proof} PRIVATE ${solo_flags})
target_link_options(simt_${proof} PRIVATE ${solo_flags})
target_link_libraries(simt_${proof} PRIVATE simt_solo Threads::Threads)
# What two warps do under the address sanitizer, which makes it four times slower: the rest touches no other memory.
# Otherwise three scenarios of three warps, drawn from the commit; all of them under `slow`.
find_package(Python3 COMPONENTS Interpreter)
if(HEDDLE_TSAN)
  add_test(NAME simt_threads COMMAND simt_threads)
elseif(HEDDLE_SANITIZE)
  add_test(NAME simt_explore COMMAND simt_explore --only "2 warps")
elseif(Python3_FOUND)
  add_test(NAME simt_explore COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/sample.py 3
    $<TARGET_FILE:simt_explore> -- "3 warps, nothing" "3 warps, rows" "3 warps, children" "3 warps, a tree"
    "3 warps, two donors" "3 warps, cancelled" "fws, 3 warps" "fws local, 3 warps" "ibr, 3 warps")
endif()
if(TARGET simt_explore)
  add_test(NAME simt_explore_all COMMAND simt_explore)
  set_tests_properties(simt_explore_all PROPERTIES LABELS slow TIMEOUT 1200)
endif()
if(TEST simt_${proof})
  set_tests_properties(simt_${proof} PROPERTIES LABELS ${proof_label} TIMEOUT 1200)
endif()

if(Python3_FOUND)
  string(REPLACE ";" " " solo_flags_text "${solo_flags}")
  add_test(NAME simt_planted_${proof}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/planted.py --proof ${proof}
      --cxx ${CMAKE_CXX_COMPILER} --flags=${solo_flags_text} --root ${CMAKE_SOURCE_DIR}
      --scratch ${CMAKE_CURRENT_BINARY_DIR}/planted $<TARGET_FILE:simt_solo>
      $<TARGET_FILE:heddle_gpu> $<TARGET_FILE:heddle_spec> $<TARGET_FILE:heddle_base>)
  set_tests_properties(simt_planted_${proof} PROPERTIES LABELS ${proof_label} TIMEOUT 1200)
endif()
