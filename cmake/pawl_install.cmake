# The installed package: headers, library, CMake config, pkg-config file.
include(CMakePackageConfigHelpers)

set(pawl_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
install(TARGETS pawl EXPORT pawl_targets)
install(DIRECTORY include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT pawl_targets NAMESPACE pawl:: FILE pawl_targets.cmake DESTINATION ${pawl_cmake_dir})

configure_package_config_file(
  cmake/pawl-config.cmake.in pawl-config.cmake INSTALL_DESTINATION ${pawl_cmake_dir})
write_basic_package_version_file(pawl-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pawl-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/pawl-config-version.cmake
              cmake/pawl_workflows.cmake
        DESTINATION ${pawl_cmake_dir})

set(pawl_pc_private "")
if(PAWL_HTTP)
  string(APPEND pawl_pc_private " libcurl")
endif()
if(PAWL_METRICS)
  string(APPEND pawl_pc_private " prometheus-cpp-pull")
endif()
if(PAWL_POSTGRES)
  string(APPEND pawl_pc_private " libpq")
endif()
if(PAWL_SQLITE)
  string(APPEND pawl_pc_private " sqlite3")
endif()
file(RELATIVE_PATH pawl_pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # relocatable, multiarch or not
configure_file(cmake/pawl.pc.in pawl.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pawl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
