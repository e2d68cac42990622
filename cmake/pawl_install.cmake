# The installed package: headers, library, CMake config, pkg-config file.
include(CMakePackageConfigHelpers)

set(pawl_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
install(DIRECTORY include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# One export per part, so that a program that uses only the core needs none of their dependencies.
foreach(target pawl pawl_http pawl_metrics)
  install(TARGETS ${target} EXPORT ${target}_targets)
  install(EXPORT ${target}_targets NAMESPACE pawl:: FILE ${target}_targets.cmake DESTINATION ${pawl_cmake_dir})
endforeach()

configure_package_config_file(
  cmake/pawl-config.cmake.in pawl-config.cmake INSTALL_DESTINATION ${pawl_cmake_dir})
write_basic_package_version_file(pawl-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pawl-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/pawl-config-version.cmake
              cmake/pawl_workflows.cmake
        DESTINATION ${pawl_cmake_dir})

file(RELATIVE_PATH pawl_pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # relocatable, multiarch or not
# pawl_pkg_config(NAME LIBRARY REQUIRES LIBS): users of a static library link its dependencies, users of a shared one
# do not.
function(pawl_pkg_config name library requires libs)
  set(pawl_pc_name ${name})
  set(pawl_pc_library ${library})
  set(pawl_pc_requires "${requires}")
  set(pawl_pc_libs "${libs}")
  set(pawl_pc_private "")
  if(BUILD_SHARED_LIBS)
    set(pawl_pc_private .private)
  endif()
  configure_file(cmake/pawl.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

set(requires fmt)
if(PAWL_POSTGRES)
  string(APPEND requires " libpq")
endif()
if(PAWL_SQLITE)
  string(APPEND requires " sqlite3")
endif()
pawl_pkg_config(pawl pawl "${requires}" "-ldate-tz -pthread")
set(requires "pawl")
if(PAWL_HTTP)
  string(APPEND requires " libcurl")
endif()
pawl_pkg_config(pawl-http pawl_http "${requires}" "")
set(requires "pawl")
if(PAWL_METRICS)
  string(APPEND requires " prometheus-cpp-pull")
endif()
pawl_pkg_config(pawl-metrics pawl_metrics "${requires}" "")
