#pragma once
// A directory of its own, removed at the end.
#include <cstdlib>
#include <filesystem>
#include <string>

namespace millrace::checkpoint {

class Scratch {
 public:
    Scratch() {
        std::string name =
            (std::filesystem::temp_directory_path() / "millrace-ckpt-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
    std::string path_;
};

}  // namespace millrace::checkpoint
