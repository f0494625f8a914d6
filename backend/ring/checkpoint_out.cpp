// A script's checkpoint file, written by the C library: the format of backend/checkpoint, which
// this library cannot link (docs/formats/checkpoint.md).
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "backend/ring/c_wall.h"
#include "backend/ring/feed_reader.h"
#include "backend/ring/run_link.h"

namespace millrace::ring {
namespace {

constexpr char kCheckpointMagic[8] = {'M', 'L', 'R', 'C', 'K', 'P', 'T', '\n'};
constexpr std::uint32_t kCheckpointVersion = 1;
constexpr std::size_t kCheckpointAlignment = 64, kCheckpointPiece = std::size_t{1} << 20;

/// The file while it is written: removed unless it was renamed.
class CheckpointOut {
 public:
    CheckpointOut(const std::string& directory, const std::string& name)
        : directory_(directory),
          path_(directory + "/" + name),
          aside_(path_ + ".tmp-" + std::to_string(::getpid())) {
        XXH3_128bits_reset(&hash_);
    }
    CheckpointOut(const CheckpointOut&) = delete;
    CheckpointOut& operator=(const CheckpointOut&) = delete;
    ~CheckpointOut() {
        if (fd_ >= 0) {
            ::close(fd_);
            ::unlink(aside_.c_str());
        }
    }

    bool begin(std::uint64_t jsonBytes, std::uint64_t payloadBytes) {
        fd_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd_ < 0) {
            return failed(aside_);
        }
        unsigned char header[32] = {};
        std::memcpy(header, kCheckpointMagic, sizeof kCheckpointMagic);
        std::memcpy(header + 8, &kCheckpointVersion, 4);
        std::memcpy(header + 16, &jsonBytes, 8);
        std::memcpy(header + 24, &payloadBytes, 8);
        return add(header, sizeof header);
    }
    bool add(const void* data, std::uint64_t bytes) {
        XXH3_128bits_update(&hash_, data, bytes);
        return put(data, bytes);
    }
    /// Up to a multiple of the alignment.
    bool pad() {
        static constexpr char kZeros[kCheckpointAlignment] = {};
        return add(kZeros,
                   (kCheckpointAlignment - bytes_ % kCheckpointAlignment) % kCheckpointAlignment);
    }
    /// `bytes` of an open file.
    bool addFile(int source, const char* name, std::uint64_t bytes) {
        std::vector<char> piece(std::min<std::uint64_t>(kCheckpointPiece, bytes));
        for (std::uint64_t left = bytes; left > 0;) {
            const ssize_t n =
                ::read(source, piece.data(), std::min<std::uint64_t>(piece.size(), left));
            if (n < 0 && errno == EINTR) {
                continue;
            }
            if (n <= 0) {
                why = std::string(name) + ": " +
                      (n == 0 ? "became shorter while it was read" : std::strerror(errno));
                return false;
            }
            if (!add(piece.data(), static_cast<std::uint64_t>(n))) {
                return false;
            }
            left -= static_cast<std::uint64_t>(n);
        }
        return true;
    }
    bool commit(char hex[33]) {
        const XXH128_hash_t sum = XXH3_128bits_digest(&hash_);
        const std::uint64_t words[2] = {sum.low64, sum.high64};
        for (int i = 0; i < 32; ++i) {
            const std::uint64_t word = i < 16 ? sum.high64 : sum.low64;
            hex[i] = "0123456789abcdef"[word >> (60 - 4 * (i % 16)) & 15];
        }
        hex[32] = 0;
        if (!put(words, sizeof words) || ::fsync(fd_) != 0 ||
            ::rename(aside_.c_str(), path_.c_str()) != 0) {
            return why.empty() ? failed(path_) : false;
        }
        ::close(fd_);
        fd_ = -1;
        const int folder = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const bool isSynced = folder >= 0 && ::fsync(folder) == 0;
        if (folder >= 0) {
            ::close(folder);
        }
        return isSynced || failed(directory_);
    }
    std::uint64_t bytes() const { return bytes_; }

    std::string why;

 private:
    bool failed(const std::string& place) {
        why = place + ": " + std::strerror(errno);
        return false;
    }
    bool put(const void* data, std::uint64_t bytes) {
        const char* from = static_cast<const char*>(data);
        for (std::uint64_t left = bytes; left > 0;) {
            const ssize_t n = ::write(fd_, from, left);
            if (n < 0 && errno == EINTR) {
                continue;
            }
            if (n <= 0) {
                return failed(path_);
            }
            from += n;
            left -= static_cast<std::uint64_t>(n);
        }
        bytes_ += bytes;
        return true;
    }

    const std::string directory_, path_, aside_;
    XXH3_state_t hash_;
    int fd_ = -1;
    std::uint64_t bytes_ = 0;
};

/// Bytes of an open file, or -1.
std::int64_t lengthOf(int fd) {
    const off_t end = ::lseek(fd, 0, SEEK_END);
    return end < 0 || ::lseek(fd, 0, SEEK_SET) != 0 ? -1 : static_cast<std::int64_t>(end);
}

/// The file whose content is wanted, open with its length.
bool openSource(const char* source, int& fd, std::uint64_t& bytes, std::string& why) {
    fd = ::open(source, O_RDONLY | O_CLOEXEC);
    const std::int64_t length = fd < 0 ? -1 : lengthOf(fd);
    if (length < 0) {
        why = std::string(source) + ": " + std::strerror(errno);
    }
    bytes = static_cast<std::uint64_t>(length);
    return length >= 0;
}

std::int64_t writeCheckpoint(const millrace_run_file& file, CheckpointOut& out, char hash[33]) {
    int fd = -1;
    std::uint64_t bytes = file.bytes;
    const bool isFile = file.data == nullptr && file.source != nullptr;
    bool isWritten = !isFile || openSource(file.source, fd, bytes, out.why);
    const std::uint64_t payload =
        (bytes + kCheckpointAlignment - 1) / kCheckpointAlignment * kCheckpointAlignment;
    const std::string json = file.json;
    isWritten =
        isWritten && out.begin(json.size(), payload) && out.add(json.data(), json.size()) &&
        out.pad() &&
        (fd >= 0 ? out.addFile(fd, file.source, bytes) : bytes == 0 || out.add(file.data, bytes)) &&
        out.pad() && out.commit(hash);
    if (fd >= 0) {
        ::close(fd);
    }
    return isWritten ? static_cast<std::int64_t>(out.bytes()) : std::int64_t{MILLRACE_FEED_FAILED};
}

}  // namespace
}  // namespace millrace::ring

extern "C" std::int64_t millrace_run_checkpoint(const millrace_run_file* file, char hash[33],
                                                char* error, std::size_t error_bytes) {
    const auto tell = [&](std::string_view why) {
        millrace::ring::writeError(why, error, error_bytes);
    };
    const auto write = [&]() -> std::int64_t {
        if (file == nullptr || file->struct_size != sizeof *file || file->json == nullptr ||
            file->directory == nullptr || file->name == nullptr) {
            tell("a checkpoint needs its directory, its name and its JSON");
            return MILLRACE_FEED_INVALID;
        }
        millrace::ring::CheckpointOut out(file->directory, file->name);
        const std::int64_t written = millrace::ring::writeCheckpoint(*file, out, hash);
        if (written < 0) {
            tell(out.why);
        }
        return written;
    };
    return millrace::ring::walled(write, [&] {
        tell("");
        return std::int64_t{MILLRACE_FEED_FAILED};
    });
}
