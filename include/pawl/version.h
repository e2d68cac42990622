// The version of these headers. CMake reads it from here. See docs/versioning.md for what a version
// number promises.
#pragma once

#include <pawl/export.h>

/// A part of the version, as a number.
#define PAWL_VERSION_MAJOR 0
/// A part of the version, as a number.
#define PAWL_VERSION_MINOR 1
/// A part of the version, as a number.
#define PAWL_VERSION_PATCH 0
/// The version as text.
#define PAWL_VERSION "0.1.0"
