# cmake --install: library, header, pkg-config file, CMake package, binary, suites. All paths
# inside are relative, so that the tree may be installed under any prefix and moved.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
set(suites_dir ${CMAKE_INSTALL_DATADIR}/heddle/suites)

# The prefix as seen from the folder of the pkg-config file.
file(RELATIVE_PATH heddle_pc_to_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})

# The shared library is what others link; the binary holds its own copy.
set_target_properties(heddle_shared PROPERTIES
  EXPORT_NAME heddle
  INTERFACE_INCLUDE_DIRECTORIES "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>")
install(TARGETS heddle_shared EXPORT heddle_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS heddle_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(HEDDLE_CUDA)
  install(TARGETS heddle_nvrtc RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/heddle)
endif()
install(FILES ${CMAKE_SOURCE_DIR}/include/heddle.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The ADBC driver, and the manifest by which driver managers find it. They look into /etc/adbc/drivers and into the same
# folder of a Python environment, and want an absolute path, which is known when it is installed: a tree that
# is moved needs its manifest edited.
install(TARGETS heddle_adbc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_SOURCE_DIR}/api/adbc/heddle_adbc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(manifest_in ${CMAKE_CURRENT_LIST_DIR}/heddle.toml.in)
install(CODE "
  set(PROJECT_VERSION ${PROJECT_VERSION})
  get_filename_component(prefix \${CMAKE_INSTALL_PREFIX} ABSOLUTE)
  set(library \${prefix}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:heddle_adbc>)
  if(prefix STREQUAL /usr)
    set(prefix \"\")
  endif()
  set(manifest \$ENV{DESTDIR}\${prefix}/etc/adbc/drivers/heddle.toml)
  configure_file(${manifest_in} \${manifest} @ONLY)
  message(STATUS \"Installing: \${manifest}\")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${manifest})")

install(EXPORT heddle_targets NAMESPACE heddle:: FILE heddleTargets.cmake
  DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/heddleConfig.cmake.in
  ${CMAKE_BINARY_DIR}/heddleConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/heddleConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/heddleConfig.cmake ${CMAKE_BINARY_DIR}/heddleConfigVersion.cmake
  DESTINATION ${package_dir})

configure_file(${CMAKE_CURRENT_LIST_DIR}/heddle.pc.in ${CMAKE_BINARY_DIR}/heddle.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/heddle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

foreach(suite tpch jcch ssb)
  install(FILES ${CMAKE_SOURCE_DIR}/${suite}/suite.json DESTINATION ${suites_dir}/${suite})
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${suite}/plans ${CMAKE_SOURCE_DIR}/${suite}/params
    ${CMAKE_SOURCE_DIR}/${suite}/answers DESTINATION ${suites_dir}/${suite})
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/docs/plan.schema.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/heddle)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
