# Warnings are errors on our own code, and only there: users' builds are not ours to break.
function(pawl_own_code target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 sees overlaps and overflows in std::string's own code that are not there.
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
  endif()
  if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  # Ten files share the templates that each would instantiate, so names in their unnamed namespaces
  # must differ.
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF UNITY_BUILD ${PAWL_UNITY} UNITY_BUILD_BATCH_SIZE 10)
endfunction()

function(pawl_precompile target)
  if(PAWL_PCH)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# With the headers of another target, which must have the same flags.
function(pawl_precompile_as target other)
  if(PAWL_PCH)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()
