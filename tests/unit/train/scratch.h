#pragma once
// Where the trainer's tests write.
#include <filesystem>
#include <string>

#include <unistd.h>

namespace millrace::train::test {

/// A directory of its own, removed at the end.
class Scratch {
 public:
    Scratch() {
        char name[] = "/tmp/millrace-train-XXXXXX";
        path_ = ::mkdtemp(name);
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

}  // namespace millrace::train::test
