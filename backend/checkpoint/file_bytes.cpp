#include "backend/checkpoint/file_bytes.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "backend/checkpoint/safetensors.h"
#include "backend/core/hash.h"
#include "backend/core/whole_io.h"

namespace millrace::checkpoint {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

}  // namespace

struct RunningHash::State {
    State() : xxh(XXH3_createState()) { XXH3_128bits_reset(xxh); }
    ~State() { XXH3_freeState(xxh); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    XXH3_state_t* xxh;
};

RunningHash::RunningHash() : state_(std::make_unique<State>()) {}
RunningHash::~RunningHash() = default;
RunningHash::RunningHash(RunningHash&&) noexcept = default;

void RunningHash::add(const void* data, std::size_t bytes) {
    XXH3_128bits_update(state_->xxh, data, bytes);
}

std::string RunningHash::hex() const {
    const XXH128_hash_t h = XXH3_128bits_digest(state_->xxh);
    return Sum128{h.low64, h.high64}.hex();
}

Result<FileBytes> FileBytes::ofFile(int fd, std::string place) {
    struct stat info{};
    if (::fstat(fd, &info) != 0) {
        return errnoStatus(errno, place);
    }
    if (!S_ISREG(info.st_mode)) {
        return damaged(place, "is not a file");
    }
    FileBytes file(std::move(place));
    file.fd_ = fd;
    file.size_ = static_cast<std::uint64_t>(info.st_size);
    file.timeMs_ = std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
    return file;
}

FileBytes FileBytes::ofMemory(std::string_view bytes, std::string place) {
    FileBytes file(std::move(place));
    file.size_ = bytes.size();
    file.memory_ = bytes;
    return file;
}

Status FileBytes::read(std::uint64_t offset, void* to, std::size_t bytes) const {
    if (fd_ < 0) {
        memory_.copy(static_cast<char*>(to), bytes, offset);
        return okStatus();
    }
    const ssize_t n = readAllAt(fd_, to, bytes, offset);
    if (n < 0) {
        return errnoStatus(errno, place_);
    }
    return static_cast<std::size_t>(n) == bytes
               ? okStatus()
               : damaged(place_, "has become shorter while it was read");
}

Result<std::string> FileBytes::text(std::uint64_t offset, std::uint64_t bytes) const {
    std::string text(bytes, '\0');
    RETURN_IF_ERROR(read(offset, text.data(), text.size()));
    return text;
}

Result<std::string> FileBytes::hash(std::uint64_t begin, std::uint64_t end,
                                    const ReadWatch& watch) const {
    RunningHash hash;
    std::vector<unsigned char> piece(std::min<std::uint64_t>(kPieceBytes, end - begin));
    for (std::uint64_t at = begin; at < end;) {
        if (watch.isCancelled && watch.isCancelled()) {
            return cancelled("checkpoint ", place_, ": not read to its end");
        }
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, end - at));
        RETURN_IF_ERROR(read(at, piece.data(), bytes));
        hash.add(piece.data(), bytes);
        at += bytes;
        if (watch.onProgress) {
            watch.onProgress(bytes);
        }
    }
    return hash.hex();
}

}  // namespace millrace::checkpoint
