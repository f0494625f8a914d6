#include "backend/checkpoint/checkpoint_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "backend/core/hash.h"

namespace millrace::checkpoint {
namespace {

// Magic, version u32, reserved u32, length of the JSON u64, length of the payload u64.
constexpr char kMagic[8] = {'M', 'L', 'R', 'C', 'K', 'P', 'T', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
// Lines that wait for the daemon stand in the JSON; no rank ever has that much of them.

Status readAt(int fd, std::uint64_t offset, void* to, std::size_t bytes, const std::string& place) {
    auto* out = static_cast<unsigned char*>(to);
    while (bytes > 0) {
        const ssize_t n = ::pread(fd, out, bytes, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errnoStatus(errno, place);
        }
        if (n == 0) {
            return damaged(place, "has become shorter while it was read");
        }
        out += n;
        offset += static_cast<std::uint64_t>(n);
        bytes -= static_cast<std::size_t>(n);
    }
    return okStatus();
}

struct Opened {
    Lengths lengths;
    std::uint64_t bytes = 0;
    std::int64_t timeMs = 0;
};

Result<Opened> readHeader(int fd, const std::string& place) {
    struct stat info{};
    if (::fstat(fd, &info) != 0) {
        return errnoStatus(errno, place);
    }
    if (!S_ISREG(info.st_mode)) {
        return damaged(place, "is no file");
    }
    Opened opened;
    opened.bytes = static_cast<std::uint64_t>(info.st_size);
    opened.timeMs = std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
    unsigned char header[kHeaderBytes] = {};
    if (opened.bytes >= kHeaderBytes) {
        RETURN_IF_ERROR(readAt(fd, 0, header, sizeof header, place));
    }
    ASSIGN_OR_RETURN(opened.lengths, parseHeader(header, opened.bytes, place));
    return opened;
}

Result<CheckpointFacts> factsOf(int fd, const Opened& opened, const std::string& place) {
    if (opened.lengths.json > kMetaBounds.bytes) {
        return damaged(place, strCat("has ", opened.lengths.json, " bytes of JSON"));
    }
    std::string text(opened.lengths.json, '\0');
    RETURN_IF_ERROR(readAt(fd, kHeaderBytes, text.data(), text.size(), place));
    const Result<Json> meta = parseBounded(text, place, kMetaBounds);
    if (!meta.ok() || !meta->is_object()) {
        return damaged(place, "its JSON cannot be read");
    }
    const Json& identity = jsonMember(*meta, "identity");
    CheckpointFacts facts;
    facts.step = jsonInt(*meta, "step");
    facts.epoch = jsonInt(*meta, "epoch");
    facts.attempt = jsonInt(*meta, "attempt");
    facts.run = jsonString(identity, "run");
    facts.streamHash = jsonString(identity, "stream_hash");
    facts.state = jsonString(*meta, "state");
    facts.bytes = static_cast<std::int64_t>(opened.bytes);
    facts.timeMs = opened.timeMs;
    return facts;
}

}  // namespace

Status damaged(const std::string& place, std::string_view why) {
    return dataLoss("checkpoint ", place, ": ", why, "; it cannot be used");
}

Result<Lengths> parseHeader(const unsigned char* header, std::uint64_t fileBytes,
                            const std::string& place) {
    if (fileBytes < kHeaderBytes + kTrailerBytes) {
        return damaged(place, strCat("is no checkpoint (", fileBytes, " bytes)"));
    }
    std::uint32_t version = 0;
    Lengths lengths;
    std::memcpy(&version, header + 8, 4);
    std::memcpy(&lengths.json, header + 16, 8);
    std::memcpy(&lengths.payload, header + 24, 8);
    if (std::memcmp(header, kMagic, sizeof kMagic) != 0) {
        return damaged(place, "does not begin like a checkpoint");
    }
    if (version != kVersion) {
        return failedPrecondition("checkpoint ", place, ": has format version ", version,
                                  "; this program reads ", kVersion);
    }
    const std::uint64_t room = fileBytes - kHeaderBytes - kTrailerBytes;
    if (lengths.json > room || lengths.payload > room ||
        aligned(kHeaderBytes + lengths.json) + lengths.payload + kTrailerBytes != fileBytes) {
        return damaged(place, strCat("is cut short or too long (", fileBytes, " bytes)"));
    }
    return lengths;
}

struct RunningHash::State {
    State() : xxh(XXH3_createState()) { XXH3_128bits_reset(xxh); }
    ~State() { XXH3_freeState(xxh); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    Sum128 digest() const {
        const XXH128_hash_t h = XXH3_128bits_digest(xxh);
        return {h.low64, h.high64};
    }
    XXH3_state_t* xxh;
};

RunningHash::RunningHash() : state_(std::make_unique<State>()) {}
RunningHash::~RunningHash() = default;
RunningHash::RunningHash(RunningHash&&) noexcept = default;

void RunningHash::add(const void* data, std::size_t bytes) {
    XXH3_128bits_update(state_->xxh, data, bytes);
}

void RunningHash::digest(unsigned char (&trailer)[kTrailerBytes]) const {
    const Sum128 sum = state_->digest();
    static_assert(sizeof sum == kTrailerBytes);
    std::memcpy(trailer, &sum, sizeof sum);
}

std::string RunningHash::hex() const {
    return state_->digest().hex();
}

Result<CheckpointWriter> CheckpointWriter::open(const std::string& path, const Json& meta,
                                                std::uint64_t payloadBytes) {
    ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::open(path));
    CheckpointWriter writer(std::move(file));
    const std::string text = dumpJson(meta);
    if (text.size() > kMetaBounds.bytes) {
        return resourceExhausted("checkpoint ", path, ": the lines that the daemon has not ",
                                 "acknowledged make ", text.size(), " bytes; at most ",
                                 kMetaBounds.bytes, " can be kept. Start the daemon (millrace up)");
    }
    unsigned char header[kHeaderBytes] = {};
    const std::uint64_t jsonBytes = text.size();
    std::memcpy(header, kMagic, sizeof kMagic);
    std::memcpy(header + 8, &kVersion, 4);
    std::memcpy(header + 16, &jsonBytes, 8);
    std::memcpy(header + 24, &payloadBytes, 8);
    RETURN_IF_ERROR(writer.put(header, sizeof header));
    RETURN_IF_ERROR(writer.put(text.data(), text.size()));
    RETURN_IF_ERROR(writer.pad());
    return writer;
}

Status CheckpointWriter::put(const void* data, std::size_t bytes) {
    hash_.add(data, bytes);
    bytes_ += bytes;
    return file_.write({static_cast<const char*>(data), bytes});
}

Status CheckpointWriter::pad() {
    static constexpr char kZeros[kAlignment] = {};
    return put(kZeros, static_cast<std::size_t>(aligned(bytes_) - bytes_));
}

Status CheckpointWriter::write(const void* data, std::size_t bytes) {
    RETURN_IF_ERROR(put(data, bytes));
    return pad();
}

Result<CheckpointWriter::Written> CheckpointWriter::commit() {
    unsigned char trailer[kTrailerBytes];
    hash_.digest(trailer);
    RETURN_IF_ERROR(file_.write({reinterpret_cast<const char*>(trailer), sizeof trailer}));
    RETURN_IF_ERROR(file_.commit());
    return Written{static_cast<std::int64_t>(bytes_ + kTrailerBytes), hash_.hex()};
}

Result<CheckpointFacts> readFacts(int fd, const std::string& place) {
    ASSIGN_OR_RETURN(const Opened opened, readHeader(fd, place));
    return factsOf(fd, opened, place);
}

Result<CheckpointFacts> verify(int fd, const std::string& place, const ReadWatch& watch) {
    ASSIGN_OR_RETURN(const Opened opened, readHeader(fd, place));
    RunningHash hash;
    std::vector<unsigned char> piece(kPieceBytes);
    const std::uint64_t end = opened.bytes - kTrailerBytes;
    for (std::uint64_t at = 0; at < end;) {
        if (watch.isCancelled && watch.isCancelled()) {
            return cancelled("checkpoint ", place, ": not read to its end");
        }
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, end - at));
        RETURN_IF_ERROR(readAt(fd, at, piece.data(), bytes, place));
        hash.add(piece.data(), bytes);
        at += bytes;
        if (watch.onProgress) {
            watch.onProgress(bytes);
        }
    }
    unsigned char is[kTrailerBytes], should[kTrailerBytes];
    hash.digest(is);
    RETURN_IF_ERROR(readAt(fd, end, should, sizeof should, place));
    if (std::memcmp(is, should, sizeof is) != 0) {
        return damaged(place, "its checksum does not fit its content");
    }
    ASSIGN_OR_RETURN(CheckpointFacts facts, factsOf(fd, opened, place));
    facts.hash = hash.hex();
    return facts;
}

}  // namespace millrace::checkpoint
