// Runs a fuzz target on every file of the named folders, so that the tests repeat earlier findings
// with any compiler. Fails if there is no file; the target itself aborts.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
    int files = 0;
    for (int i = 1; i < argc; ++i) {
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
            std::ifstream in(entry.path(), std::ios::binary);
            // The capacity equals the size, so that a sanitizer sees a read beyond the end.
            std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
            bytes.shrink_to_fit();
            LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
            ++files;
        }
    }
    std::printf("%d inputs\n", files);
    return files > 0 ? 0 : 1;
}
