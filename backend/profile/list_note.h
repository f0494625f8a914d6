#pragma once
// Finds texts that are lists as Python prints them ("[1, 2]", "['a', 'b']"), which pandas' to_csv
// writes, and says which expression reads them.
//
// Used by first_spec.cpp and head.cpp. Private to profile. Threads: pure.
#include <string>
#include <vector>

namespace millrace::profile {

/// "'genres' looks like a list (...)", from values of the text column `name`; "" if one of them is
/// not a list, or all are empty.
std::string listNote(const std::string& name, const std::vector<std::string>& values);

}  // namespace millrace::profile
