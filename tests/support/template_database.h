// A database with the schema installed, created once per server and version of the schema. Copying
// it takes a fraction of the time of install().
#pragma once

#include <string>

namespace pawl::test {

inline constexpr auto template_schema = "pawl_test";

// Creates the database `name` with the schema `template_schema`; returns its name.
std::string copy_template_database(const std::string& name);

}  // namespace pawl::test
