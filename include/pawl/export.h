// Included first by every public header: the language standard, and the mark of exported symbols.
#pragma once

// The missing file ends the compilation, so that this is the only error.
#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error pawl needs C++20: compile with -std=c++20, or target_compile_features(app PRIVATE cxx_std_20)
#include <pawl/needs_cxx20.h>
#endif

/// Marks what the shared library exports. Everything else is hidden.
#define PAWL_EXPORT __attribute__((visibility("default")))
