# Warnings are errors in pawl's sources only, so that they do not break users' builds.
function(pawl_own_code target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports overlaps and overflows in std::string that do not exist.
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
  endif()
  if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  # Ten files are compiled as one and share template instantiations, so names in their unnamed namespaces must differ.
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF UNITY_BUILD ${PAWL_UNITY} UNITY_BUILD_BATCH_SIZE 10)
endfunction()

# A library that users link. Exports only symbols marked PAWL_EXPORT. Before 1.0 each minor version has its own ABI.
function(pawl_library target)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()

function(pawl_precompile target)
  if(PAWL_PCH)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# Adds the headers of another target, which must have the same flags.
function(pawl_precompile_as target other)
  if(PAWL_PCH)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()
