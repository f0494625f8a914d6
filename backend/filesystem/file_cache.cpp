#include "backend/filesystem/file_cache.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace millrace {

namespace fs = std::filesystem;

void boundFileCache(const std::string& directory, const FileCacheBound& bound) {
    struct File {
        fs::file_time_type used;
        fs::path path;
        std::int64_t bytes = 0;
    };
    std::vector<File> files;
    std::int64_t bytes = 0;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
        std::error_code gone;  // another process may bound it too
        File file{entry.last_write_time(gone), entry.path()};
        const std::uintmax_t size = gone ? 0 : entry.file_size(gone);
        if (!gone) {
            file.bytes = static_cast<std::int64_t>(size);
            bytes += file.bytes;
            files.push_back(std::move(file));
        }
    }
    if (bytes <= bound.bytesMost) {
        return;
    }
    std::ranges::sort(files, {}, &File::used);
    const fs::file_time_type fresh = fs::file_time_type::clock::now() - bound.freshFor;
    for (const File& file : files) {
        if (bytes <= bound.bytesLeft || file.used > fresh) {
            return;
        }
        bytes -= fs::remove(file.path, error) ? file.bytes : 0;
    }
}

void markUsed(const std::string& path) {
    std::error_code error;
    fs::last_write_time(path, fs::file_time_type::clock::now(), error);
}

}  // namespace millrace
