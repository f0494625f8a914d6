#pragma once
// A private directory for what a question writes: gone with the object.
#include <cstdlib>
#include <filesystem>
#include <string>

namespace millrace::loader {

class ScratchDirectory {
 public:
    /// In the directory for such files; `name` begins its name. path() is "" where it could not be
    /// made.
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

}  // namespace millrace::loader
