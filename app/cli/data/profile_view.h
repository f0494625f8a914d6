#pragma once
// Prints the profile of a dataset: a row per column, then the advisor's findings.
#include <string>

#include "app/cli/frame/context.h"

namespace millrace::cli {

/// `profile`: the output of `millrace-loader profile`.
void printProfile(CliContext& context, const Json& profile);

/// The member as a size; "-" if it is absent.
std::string bytesText(const Json& object, const char* key);

}  // namespace millrace::cli
