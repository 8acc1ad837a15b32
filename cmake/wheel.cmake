# What a wheel holds of the build, laid out like an installation, so that the program finds its library, its suites and
# the compiling process: heddle/{bin,lib,libexec,share}. LLVM, zstd and zlib are inside the library, hidden, so that they
# meet no other copy in a Python process. cJSON and xxHash, which are small, lie beside it as the distribution's files.
set(root heddle)

# One file and no links: a wheel would hold the library three times.
set_target_properties(heddle_shared PROPERTIES VERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/wheel.map INSTALL_RPATH "$ORIGIN")
target_link_options(heddle_shared PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections
  -Wl,--exclude-libs,ALL -Wl,--version-script,${CMAKE_SOURCE_DIR}/cmake/wheel.map)
set_target_properties(heddle_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
set_target_properties(heddle_nvrtc PROPERTIES INSTALL_RPATH "$ORIGIN/../../lib")

install(TARGETS heddle_shared LIBRARY DESTINATION ${root}/lib NAMELINK_SKIP COMPONENT wheel)
install(TARGETS heddle_cli RUNTIME DESTINATION ${root}/bin COMPONENT wheel)
install(TARGETS heddle_nvrtc RUNTIME DESTINATION ${root}/libexec/heddle COMPONENT wheel)
install(FILES ${CMAKE_SOURCE_DIR}/tools/profile.html DESTINATION ${root} COMPONENT wheel)
foreach(suite tpch jcch ssb)
  set(to ${root}/share/heddle/suites/${suite})
  install(FILES ${CMAKE_SOURCE_DIR}/${suite}/suite.json DESTINATION ${to} COMPONENT wheel)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${suite}/plans ${CMAKE_SOURCE_DIR}/${suite}/params
    ${CMAKE_SOURCE_DIR}/${suite}/answers DESTINATION ${to} COMPONENT wheel)
endforeach()

# The files behind the libraries' names.
foreach(name cjson:libcjson.so.1 xxhash:libxxhash.so.0)
  string(REPLACE ":" ";" pair ${name})
  list(GET pair 0 library)
  list(GET pair 1 soname)
  find_library(${library}_file ${library} REQUIRED)
  file(REAL_PATH ${${library}_file} real)
  install(FILES ${real} DESTINATION ${root}/lib RENAME ${soname} COMPONENT wheel)
endforeach()
