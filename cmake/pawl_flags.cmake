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
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()

function(pawl_precompile target)
  if(PAWL_PCH)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
