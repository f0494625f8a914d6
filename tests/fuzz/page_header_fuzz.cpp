// A Parquet page header and the hybrid stream behind it: no byte beyond the end may be read.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/pages/hybrid_stream.h"
#include "backend/pages/page_stream.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    millrace::pages::PageHeader header;
    const std::int64_t length = millrace::pages::parsePageHeader({data, data + size}, header);
    if (length > static_cast<std::int64_t>(size)) {
        __builtin_trap();
    }
    if (size > 1) {
        millrace::pages::HybridStream stream({data + 1, data + size}, data[0] % 33);
        std::vector<std::uint32_t> values(97);
        for (int round = 0; round < 1'000 && stream.read(97, values.data()) && stream.skip(5);
             ++round) {
        }
    }
    return 0;
}
