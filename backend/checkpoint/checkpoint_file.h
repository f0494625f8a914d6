#pragma once
// The checkpoint file as bytes (docs/formats/checkpoint.md): header, JSON, payload, checksum.
//
// What the tensors of the payload mean is the train room's; this room writes the frame around them
// and tells whether a file is whole. Threads: any. Failure: kDataLoss names a file that is
// damaged, kFailedPrecondition one of another format version; every other error means that the file
// could not be read, which says nothing about it. A full disk is kResourceExhausted.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backend/core/files.h"
#include "backend/core/json_bounds.h"
#include "backend/core/status.h"

namespace millrace::checkpoint {

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kTrailerBytes = 16;  ///< XXH3-128 of everything before
inline constexpr std::size_t kAlignment = 64;     ///< of JSON and tensors
/// What the JSON may be: it holds the lines that the daemon has not acknowledged (rank/line_queue.h
/// bounds them to half of this). A longer one is not written, and not taken.
inline constexpr JsonBounds kMetaBounds{.bytes = std::size_t{1} << 30};

/// The next multiple of kAlignment.
constexpr std::uint64_t aligned(std::uint64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// The lengths that a header tells.
struct Lengths {
    std::uint64_t json = 0, payload = 0;
};

/// Checks a header against the size of its file; `place` begins the message.
Result<Lengths> parseHeader(const unsigned char* header, std::uint64_t fileBytes,
                            const std::string& place);
/// kDataLoss "checkpoint PLACE: WHY; it cannot be used".
Status damaged(const std::string& place, std::string_view why);

/// Adds up XXH3-128 piece by piece.
class RunningHash {
 public:
    RunningHash();
    ~RunningHash();
    RunningHash(RunningHash&&) noexcept;
    void add(const void* data, std::size_t bytes);
    /// The bytes of a trailer, low word first.
    void digest(unsigned char (&trailer)[kTrailerBytes]) const;
    std::string hex() const;  ///< 32 digits, high word first

 private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Writes a checkpoint aside; nothing is visible before commit(), which syncs and renames.
class CheckpointWriter {
 public:
    struct Written {
        std::int64_t bytes = 0;
        std::string hash;  ///< XXH3-128 of the content, 32 hex digits
    };

    /// `payloadBytes`: what write() will be given in all, each piece rounded up to kAlignment.
    static Result<CheckpointWriter> open(const std::string& path, const Json& meta,
                                         std::uint64_t payloadBytes);
    /// The next tensor's values; padded.
    Status write(const void* data, std::size_t bytes);
    Result<Written> commit();

 private:
    explicit CheckpointWriter(AtomicFile file) : file_(std::move(file)) {}
    Status put(const void* data, std::size_t bytes);
    Status pad();

    AtomicFile file_;
    RunningHash hash_;
    std::uint64_t bytes_ = 0;
};

/// What a checkpoint says of itself.
struct CheckpointFacts {
    std::int64_t step = 0, epoch = 0, attempt = 0;
    std::string run, streamHash;  ///< whose it is
    std::string state;            ///< stream::StreamState text
    std::int64_t bytes = 0;
    std::string hash;         ///< as of Written; "" when only the header was read
    std::int64_t timeMs = 0;  ///< last written, UTC
};

/// How a long read is followed; both may be empty.
struct ReadWatch {
    std::function<bool()> isCancelled;              ///< true ends it with kCancelled
    std::function<void(std::uint64_t)> onProgress;  ///< bytes since the last call
};

/// The facts in an open file's header; the payload and the checksum are not looked at.
Result<CheckpointFacts> readFacts(int fd, const std::string& place);
/// Reads all of an open file: its facts, if it is whole.
Result<CheckpointFacts> verify(int fd, const std::string& place, const ReadWatch& watch = {});

}  // namespace millrace::checkpoint
