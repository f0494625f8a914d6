#pragma once
// CheckpointIn reads a checkpoint file, for a rank or a program that has no other part of Millrace.
//
// Threads: one owner. Owns: the file's descriptor. Failure: read() returns one of the codes of
// feed_reader.h, and `why` is the message.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/stream/state/tiny_json.h"

namespace millrace::ring {

class CheckpointIn {
 public:
    explicit CheckpointIn(const char* path) : path_(path) {}
    CheckpointIn(const CheckpointIn&) = delete;
    CheckpointIn& operator=(const CheckpointIn&) = delete;
    ~CheckpointIn();

    /// Checks the header against its checksum and the file's length, with `isWhole` also the
    /// values. Returns 0; CORRUPT: it is damaged; INVALID: of another format; FAILED: it cannot be
    /// read.
    int read(bool isWhole);
    const std::string& header() const { return text_; }
    /// Offset at which the tensors' values begin.
    std::uint64_t values() const;
    /// Lines that the daemon had not acknowledged when the file was written; call after read().
    /// Returns the same codes.
    int lines(std::vector<std::string>& out);

    std::string why;

 private:
    struct Tensor {
        std::string_view name;
        std::int64_t begin = 0, end = 0;
    };

    int failed(const std::string& text);
    int damaged(const std::string& text);
    int readAt(std::uint64_t from, char* to, std::uint64_t bytes);
    int readHeader();
    int placeTensors();
    static bool isPlaced(const stream::TinyJson& entry, Tensor& to);
    int checkValues();

    const std::string path_;
    int fd_ = -1;
    std::uint64_t size_ = 0;
    std::string text_;
    stream::TinyJson header_;
    const stream::TinyJson* metadata_ = nullptr;
    std::vector<Tensor> tensors_;  ///< in file order
};

}  // namespace millrace::ring
