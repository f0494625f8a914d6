#pragma once
// ScratchDirectory: a private directory for temporary files; removed with the object.
#include <cstdlib>
#include <filesystem>
#include <string>

namespace millrace {

class ScratchDirectory {
 public:
    /// In the directory for temporary files; its name starts with `name`. path() is "" if it could
    /// not be created.
    explicit ScratchDirectory(const std::string& name) {
        std::error_code error;
        std::string pattern =
            (std::filesystem::temp_directory_path(error) / (name + "-XXXXXX")).string();
        path_ = ::mkdtemp(pattern.data()) == nullptr ? "" : pattern;
    }
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;
    ~ScratchDirectory() {
        std::error_code error;
        if (!path_.empty()) {
            std::filesystem::remove_all(path_, error);
        }
    }
    const std::string& path() const { return path_; }

 private:
    std::string path_;
};

}  // namespace millrace
