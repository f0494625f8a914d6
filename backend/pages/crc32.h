#pragma once
// CRC-32 as used by Parquet's pages, gzip and PNG (polynomial 0x04C11DB7, reflected). Uses
// carryless multiplication if the machine has it (chosen once, at run time; both ways give the same
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
