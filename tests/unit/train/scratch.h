#pragma once
// Where the trainer's tests write.
#include "tests/support/temp_dir.h"

namespace millrace::train::test {

using Scratch = tests::TempDir;

}  // namespace millrace::train::test
