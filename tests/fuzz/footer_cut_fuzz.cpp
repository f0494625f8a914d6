// A Parquet footer that is cut to some columns: no bytes may be read that are not there, and what
// is cut is of the size of what it was cut from.
#include <cstddef>
#include <cstdint>
#include <string>

#include "backend/pages/footer_cut.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    const millrace::pages::ColumnNames names{"f0", "f7", "f40", "user"};
    const auto cut = millrace::pages::cutFooter(bytes, names);
    // Heads of fields and lists may take more bytes than they took: some for each row group.
    if (cut.has_value() && cut->size() > 2 * size + 64) {
        __builtin_trap();
    }
    return 0;
}
