#pragma once
// CRC-32 as Parquet's pages, gzip and PNG have it (polynomial 0x04C11DB7, reflected), with
// carryless multiplication where the machine has it (chosen once, at run time; both give the same
// sum).
//
// Method: V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel, 2009. Threads: any. Failure: none.
#include <cstdint>

#include "backend/arrays/hybrid_runs.h"

namespace millrace::pages {

std::uint32_t crc32Of(arrays::ByteSpan bytes);

/// For tests: without special instructions.
std::uint32_t plainCrc32Of(arrays::ByteSpan bytes);

}  // namespace millrace::pages
