// libFuzzer target: reads the input as a checkpoint file, then again with a valid checksum in its
// header, so that the checks behind the checksum run too. All tensors must be within the file.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "backend/checkpoint/checkpoint_file.h"
#include "backend/checkpoint/checkpoint_header.h"

namespace {

using namespace millrace::checkpoint;

void read(const std::string& file) {
    const auto content = readContent(FileBytes::ofMemory(file, "input"));
    if (!content.ok()) {
        return;
    }
    for (const StoredTensor& tensor : content->tensors) {
        std::uint64_t bytes = bytesOf(tensor.type);
        for (const std::int64_t size : tensor.shape) {
            bytes *= static_cast<std::uint64_t>(size);
        }
        if (bytes != tensor.bytes || tensor.begin > file.size() ||
            tensor.bytes > file.size() - tensor.begin) {
            std::abort();
        }
    }
}

void readMended(std::string file) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    if (length > file.size() - 8 || length < kFormatBeginning.size() + kChecksumDigits) {
        return;
    }
    file.replace(8 + kFormatBeginning.size(), kChecksumDigits,
                 headerChecksum(std::string_view(file).substr(8, length)));
    read(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string file(reinterpret_cast<const char*>(data), size);
    read(file);
    if (size > 8) {
        readMended(file);
        const std::string json = file.substr(8);
        const auto header = parseSafetensors(json, data[0], "input");
        std::uint64_t end = 0;
        for (std::size_t i = 0; header.ok() && i < header->tensors.size(); ++i) {
            end += header->tensors[i].end - header->tensors[i].begin;
        }
        if (header.ok() && end != data[0]) {
            std::abort();
        }
    }
    return 0;
}
