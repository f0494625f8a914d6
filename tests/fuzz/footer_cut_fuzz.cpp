// A Parquet footer that is cut to some columns: no byte beyond the end may be read, and the cut
// footer may be at most about twice as large as the whole.
#include <cstddef>
#include <cstdint>
#include <string>

#include "backend/pages/footer_cut.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    const millrace::pages::ColumnNames names{"f0", "f7", "f40", "user"};
    const auto cut = millrace::pages::cutFooter(bytes, names);
    // Headers of fields and lists may take more bytes than before: some for each row group.
    if (cut.has_value() && cut->size() > 2 * size + 64) {
        __builtin_trap();
    }
    return 0;
}
