# One static library per folder, with only the dependencies its layer allows: a wrong include
# fails to link because no other folder's symbols are there.

add_library(heddle_warnings INTERFACE)
target_compile_options(heddle_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion
  -Wswitch-enum -Wno-sign-conversion -fno-strict-aliasing)
target_compile_definitions(heddle_warnings INTERFACE _GNU_SOURCE)
target_include_directories(heddle_warnings INTERFACE ${CMAKE_SOURCE_DIR})
if(HEDDLE_WERROR)
  target_compile_options(heddle_warnings INTERFACE -Werror)
endif()
if(HEDDLE_SANITIZE)
  target_compile_options(heddle_warnings INTERFACE -fsanitize=address,undefined
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(heddle_warnings INTERFACE -fsanitize=address,undefined)
endif()
if(HEDDLE_TSAN)
  target_compile_options(heddle_warnings INTERFACE -fsanitize=thread)
  target_link_options(heddle_warnings INTERFACE -fsanitize=thread)
endif()

# heddle_layer(name SOURCES a.c ... [DEPENDS other layers] [LIBS external targets])
function(heddle_layer name)
  cmake_parse_arguments(L "" "" "SOURCES;DEPENDS;LIBS" ${ARGN})
  add_library(heddle_${name} STATIC ${L_SOURCES})
  target_link_libraries(heddle_${name} PRIVATE heddle_warnings)
  foreach(dep ${L_DEPENDS})
    target_link_libraries(heddle_${name} PUBLIC heddle_${dep})
  endforeach()
  if(L_LIBS)
    target_link_libraries(heddle_${name} PRIVATE ${L_LIBS})
  endif()
endfunction()
