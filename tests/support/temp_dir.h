#pragma once
// A temporary directory, removed with its content when the object is destroyed.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace millrace::tests {

class TempDir {
 public:
    TempDir() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "millrace-test-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data()) == nullptr ? "" : pattern;
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;
    ~TempDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
    std::string path_;
};

}  // namespace millrace::tests
