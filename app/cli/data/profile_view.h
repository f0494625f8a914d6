#pragma once
// The profile of a dataset as people read it: a row a column, then the advisor's findings.
#include <string>

#include "app/cli/frame/context.h"

namespace millrace::cli {

/// `profile`: what `millrace-loader profile` prints.
void printProfile(CliContext& context, const Json& profile);

/// The member as a size; "-" where it is absent.
std::string bytesText(const Json& object, const char* key);

}  // namespace millrace::cli
