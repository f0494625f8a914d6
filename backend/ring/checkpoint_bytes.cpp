// Checkpoint files in the C library: a script's is written, the built-in trainer's is checked. The
// formats are those of backend/checkpoint, which this library cannot link
// (docs/formats/checkpoint.md).
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "backend/ring/c_wall.h"
#include "backend/ring/feed_reader.h"
#include "backend/ring/run_link.h"
#include "backend/stream/state/tiny_json.h"

namespace millrace::ring {
namespace {

constexpr char kCheckpointMagic[8] = {'M', 'L', 'R', 'C', 'K', 'P', 'T', '\n'};
constexpr std::uint32_t kCheckpointVersion = 1;
constexpr std::size_t kCheckpointAlignment = 64, kCheckpointPiece = std::size_t{1} << 20;

std::string hexOf(const XXH128_hash_t& sum) {
    std::string hex(32, '0');
    for (std::size_t i = 0; i < hex.size(); ++i) {
        const std::uint64_t word = i < 16 ? sum.high64 : sum.low64;
        hex[i] = "0123456789abcdef"[word >> (60 - 4 * (i % 16)) & 15];
    }
    return hex;
}

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
        std::memcpy(hex, hexOf(sum).c_str(), 33);
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

constexpr std::string_view kSafetensorsStem = R"({"__metadata__":{"format":"millrace-checkpoint-)";
constexpr std::string_view kSafetensorsBeginning =
    R"({"__metadata__":{"format":"millrace-checkpoint-2","checksum":")";
constexpr std::uint64_t kLengthBytes = 8, kDigits = 32, kHeaderMax = 100'000'000;

/// Bytes of a value; 0: there is no such type.
std::int64_t widthOf(std::string_view dtype) {
    constexpr std::string_view kWidths[] = {"F64", "I64", "F32", "I32", "BF16", "F16", "U8"};
    constexpr std::int64_t kBytes[] = {8, 8, 4, 4, 2, 2, 1};
    const auto* found = std::find(std::begin(kWidths), std::end(kWidths), dtype);
    return found == std::end(kWidths) ? 0 : kBytes[found - std::begin(kWidths)];
}

/// A checkpoint of the built-in trainer, format 2: whole, or `why` says what is wrong with it.
class CheckpointIn {
 public:
    explicit CheckpointIn(const char* path) : path_(path) {}
    CheckpointIn(const CheckpointIn&) = delete;
    CheckpointIn& operator=(const CheckpointIn&) = delete;
    ~CheckpointIn() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }

    /// 0; CORRUPT: it is damaged; INVALID: of another format; FAILED: it cannot be read.
    int check() {
        struct stat info{};
        fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd_ < 0 || ::fstat(fd_, &info) != 0) {
            return failed(std::strerror(errno));
        }
        if (!S_ISREG(info.st_mode)) {
            return damaged("is no file");
        }
        size_ = static_cast<std::uint64_t>(info.st_size);
        if (const int result = readHeader()) {
            return result;
        }
        stream::TinyJson header;
        if (!stream::TinyJson::parse(header_, header)) {
            return damaged("its header is not JSON");
        }
        return checkTensors(header);
    }

    std::string why;

 private:
    struct Tensor {
        std::string_view name;
        std::int64_t begin = 0, end = 0;
    };

    int failed(const std::string& text) {
        why = "checkpoint " + path_ + " cannot be read: " + text;
        return MILLRACE_FEED_FAILED;
    }
    int damaged(const std::string& text) {
        why = "checkpoint " + path_ + ": " + text + "; it cannot be used";
        return MILLRACE_FEED_CORRUPT;
    }

    int read(std::uint64_t from, char* to, std::uint64_t bytes) {
        while (bytes > 0) {
            const ssize_t n = ::pread(fd_, to, bytes, static_cast<off_t>(from));
            if (n < 0 && errno == EINTR) {
                continue;
            }
            if (n <= 0) {
                return n < 0 ? failed(std::strerror(errno))
                             : damaged("has become shorter while it was read");
            }
            from += static_cast<std::uint64_t>(n);
            to += n;
            bytes -= static_cast<std::uint64_t>(n);
        }
        return 0;
    }

    /// The header, if it is what its checksum says.
    int readHeader() {
        std::uint64_t length = 0;
        std::string start(kSafetensorsBeginning.size(), '\0');
        if (size_ < kLengthBytes + start.size()) {
            return damaged("is no checkpoint (" + std::to_string(size_) + " bytes)");
        }
        int result = read(0, reinterpret_cast<char*>(&length), sizeof length);
        result = result != 0 ? result : read(kLengthBytes, start.data(), start.size());
        if (result != 0) {
            return result;
        }
        if (start != kSafetensorsBeginning) {
            const std::size_t version = kSafetensorsStem.size();
            const std::size_t end = start.find('"', version);
            const std::string number = start.substr(version, end - version);
            if (!start.starts_with(kSafetensorsStem) || end == start.npos || number == "2" ||
                number.empty() || number.find_first_not_of("0123456789") != number.npos) {
                return damaged("does not begin like a checkpoint");
            }
            why = "checkpoint " + path_ + ": has format version " + number +
                  "; this version of Millrace loads 2";
            return MILLRACE_FEED_INVALID;
        }
        if (length > size_ - kLengthBytes || length > kHeaderMax ||
            length < kSafetensorsBeginning.size() + kDigits) {
            return damaged("is cut short, or its header cannot have " + std::to_string(length) +
                           " of its " + std::to_string(size_) + " bytes");
        }
        header_.resize(length);
        result = read(kLengthBytes, header_.data(), length);
        if (result != 0) {
            return result;
        }
        const std::string told = header_.substr(kSafetensorsBeginning.size(), kDigits);
        std::string hashed(reinterpret_cast<const char*>(&length), sizeof length);
        hashed += header_;
        hashed.replace(sizeof length + kSafetensorsBeginning.size(), kDigits, kDigits, '0');
        return told == hexOf(XXH3_128bits(hashed.data(), hashed.size()))
                   ? 0
                   : damaged("its checksum does not fit its header");
    }

    /// That they lie one behind the other to the file's last byte, and are what their hashes say.
    int checkTensors(const stream::TinyJson& header) {
        std::string text;
        stream::TinyJson hashes;
        if (header.members.empty() ||
            !header.members.front().value.readText("tensor_hashes", text) ||
            !stream::TinyJson::parse(text, hashes)) {
            return damaged("has no tensor_hashes");
        }
        std::vector<Tensor> tensors;
        std::set<std::string_view> names;
        for (const auto& [name, entry] : header.members) {
            Tensor tensor{name};
            if (!names.insert(name).second) {
                return damaged("its header names '" + name + "' twice");
            }
            if (&entry == &header.members.front().value) {
                continue;  // the metadata
            }
            if (!isPlaced(entry, tensor)) {
                return damaged("tensor " + name + " is not as long as its shape makes it");
            }
            tensors.push_back(tensor);
        }
        std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) {
            return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
        });
        const std::uint64_t base = kLengthBytes + header_.size();
        const auto room = static_cast<std::int64_t>(size_ - base);
        std::int64_t end = 0;
        for (const Tensor& tensor : tensors) {
            if (tensor.begin != end) {
                return damaged("tensor " + std::string(tensor.name) + " does not lie in its place");
            }
            if (tensor.end > room) {
                return damaged("is cut short: tensor " + std::string(tensor.name) +
                               " ends behind it");
            }
            end = tensor.end;
        }
        if (end != room) {
            return damaged("has " + std::to_string(room - end) + " bytes behind its last tensor");
        }
        for (const Tensor& tensor : tensors) {
            if (const int result = checkHash(tensor, base, hashes)) {
                return result;
            }
        }
        return 0;
    }

    static bool isPlaced(const stream::TinyJson& entry, Tensor& to) {
        std::string dtype;
        const stream::TinyJson* shape = entry.find("shape");
        const stream::TinyJson* offsets = entry.find("data_offsets");
        if (shape == nullptr || shape->kind != stream::TinyJson::Kind::kList ||
            offsets == nullptr || !offsets->readPair(to.begin, to.end) ||
            !entry.readText("dtype", dtype)) {
            return false;
        }
        std::int64_t bytes = widthOf(dtype);
        bool isFine = bytes > 0 && to.begin <= to.end;
        for (const stream::TinyJson& size : shape->items) {
            isFine = isFine && size.isCount() && !__builtin_mul_overflow(bytes, size.count, &bytes);
        }
        return isFine && bytes == to.end - to.begin;
    }

    int checkHash(const Tensor& tensor, std::uint64_t base, const stream::TinyJson& hashes) {
        XXH3_state_t hash;
        XXH3_128bits_reset(&hash);
        std::vector<char> piece(kCheckpointPiece);
        const std::uint64_t end = base + static_cast<std::uint64_t>(tensor.end);
        for (std::uint64_t at = base + static_cast<std::uint64_t>(tensor.begin); at < end;) {
            const std::uint64_t bytes = std::min<std::uint64_t>(piece.size(), end - at);
            if (const int result = read(at, piece.data(), bytes)) {
                return result;
            }
            XXH3_128bits_update(&hash, piece.data(), bytes);
            at += bytes;
        }
        std::string told;
        return hashes.readText(tensor.name, told) && told == hexOf(XXH3_128bits_digest(&hash))
                   ? 0
                   : damaged("the values of tensor " + std::string(tensor.name) +
                             " do not fit their checksum");
    }

    const std::string path_;
    int fd_ = -1;
    std::uint64_t size_ = 0;
    std::string header_;
};

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

extern "C" int millrace_checkpoint_verify(const char* path, char* error, std::size_t error_bytes) {
    if (path == nullptr) {
        millrace::ring::writeError("a checkpoint needs its path", error, error_bytes);
        return MILLRACE_FEED_INVALID;
    }
    return millrace::ring::walled(
        [&] {
            millrace::ring::CheckpointIn in(path);
            const int result = in.check();
            if (result != 0) {
                millrace::ring::writeError(in.why, error, error_bytes);
            }
            return result;
        },
        [&] {
            millrace::ring::writeError("no memory to check a checkpoint", error, error_bytes);
            return static_cast<int>(MILLRACE_FEED_FAILED);
        });
}
