#include "backend/scores/score_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>

#include <unistd.h>

#include <zstd.h>

#include "backend/core/hash.h"
#include "backend/filesystem/files.h"

namespace millrace::scores {
namespace {

constexpr char kMagic[8] = {'M', 'R', 'S', 'C', 'O', 'R', 'E', 'S'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kNameMost = 250;
// Limits for files that are damaged or forged: nothing larger is allocated.
constexpr std::size_t kFileMost = std::size_t{8} << 30;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr int kLevel = 1;  // keys are hashes: no level makes them smaller
constexpr std::string_view kPrefix = "scores-", kAttempt = ".a", kSuffix = ".zst";

template <class T>
void put(std::string& out, const T& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
void putAll(std::string& out, const std::vector<T>& values) {
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// The unread rest of a file's bytes. A read beyond the end makes it bad and returns zeros.
class Reader {
 public:
    explicit Reader(std::string_view bytes) : left_(bytes) {}
    template <class T>
    T take() {
        T value{};
        const std::string_view bytes = takeBytes(sizeof value);
        bytes.copy(reinterpret_cast<char*>(&value), bytes.size());
        return value;
    }
    template <class T>
    std::vector<T> takeAll(std::size_t count) {
        const std::string_view bytes =
            count <= left_.size() / sizeof(T) ? takeBytes(count * sizeof(T)) : takeBytes(kTooMany);
        std::vector<T> values(bytes.size() / sizeof(T));
        bytes.copy(reinterpret_cast<char*>(values.data()), bytes.size());  // data() may be null if
                                                                           // empty
        return values;
    }
    std::string_view takeBytes(std::size_t count) {
        // Stays bad, so that one test at the end is enough.
        isBad_ = isBad_ || count > left_.size();
        const std::string_view bytes = left_.substr(0, isBad_ ? 0 : count);
        left_.remove_prefix(bytes.size());
        return bytes;
    }
    bool isWhole() const { return !isBad_ && left_.empty(); }
    bool isBad() const { return isBad_; }

 private:
    static constexpr std::size_t kTooMany = static_cast<std::size_t>(-1);
    std::string_view left_;
    bool isBad_ = false;
};

Result<std::string> unpacked(const std::string& path, const std::string& bytes) {
    const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kFileMost) {
        return dataLoss(path, ": no zstd frame of a size that scores can have");
    }
    std::string out(size, '\0');
    const std::size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
    if (ZSTD_isError(got) != 0 || got != out.size()) {
        return dataLoss(path, ": damaged: ",
                        ZSTD_isError(got) != 0 ? ZSTD_getErrorName(got) : "shorter than it says");
    }
    return out;
}

struct ScoreFile {
    std::filesystem::path path;
    ScoreName name;
};

std::vector<ScoreFile> filesIn(const std::string& directory) {
    std::vector<ScoreFile> found;
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
        if (const auto name = ScoreName::parse(at->path().filename().string())) {
            found.push_back({at->path(), *name});
        }
    }
    return found;
}

/// Decompresses a zstd frame piece by piece to verify it; keeps the first kHeadBytes bytes.
class FrameCheck {
 public:
    explicit FrameCheck(std::string path) : path_(std::move(path)) {}

    Status add(std::string_view packed) {
        ZSTD_inBuffer in{packed.data(), packed.size(), 0};
        // With a full buffer, zstd may hold more output although all input is taken.
        for (bool isFull = false; in.pos < in.size || (isFull && left_ != 0);) {
            ZSTD_outBuffer out{piece_.data(), piece_.size(), 0};
            left_ = ZSTD_decompressStream(context_.get(), &out, &in);
            if (ZSTD_isError(left_) != 0) {
                return dataLoss(path_, ": damaged: ", ZSTD_getErrorName(left_));
            }
            head_.append(piece_, 0, std::min(out.pos, kHeadBytes - head_.size()));
            isFull = out.pos == out.size;
        }
        return okStatus();
    }
    /// The first bytes of the frame's content, once the frame is complete.
    Result<std::string> finish() const {
        return left_ == 0 && head_.size() == kHeadBytes
                   ? Result<std::string>(head_)
                   : dataLoss(path_, ": the file of scores is incomplete");
    }
    static constexpr std::size_t kHeadBytes = 40;  ///< up to and including the step

 private:
    const std::string path_;
    const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context_{ZSTD_createDCtx(),
                                                                           &ZSTD_freeDCtx};
    std::string piece_ = std::string(kPieceBytes, '\0'), head_;
    std::size_t left_ = 1;  ///< 0: the frame is complete
};

template <class T>
void reorder(const std::vector<std::uint32_t>& order, std::vector<T>& values) {
    std::vector<T> out(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        out[i] = values[order[i]];
    }
    values = std::move(out);
}

}  // namespace

std::string ScoreName::text() const {
    return strCat(kPrefix, step, kAttempt, attempt, kSuffix);
}

std::optional<ScoreName> ScoreName::parse(std::string_view name) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) {
        return std::nullopt;
    }
    ScoreName parsed;
    const char* end = name.data() + name.size() - kSuffix.size();
    const auto step = std::from_chars(name.data() + kPrefix.size(), end, parsed.step);
    const std::string_view rest(step.ptr, static_cast<std::size_t>(end - step.ptr));
    if (step.ec != std::errc() || !rest.starts_with(kAttempt)) {
        return std::nullopt;
    }
    const auto attempt = std::from_chars(step.ptr + kAttempt.size(), end, parsed.attempt);
    const bool isName = attempt.ec == std::errc() && attempt.ptr == end && parsed.step >= 0;
    return isName ? std::optional(parsed) : std::nullopt;
}

// Rows are kept by the least keys, which are hashes: the sample is the same for any order in which
// rows were evaluated, and two models keep the same rows.
void Scores::settle(std::size_t most) {
    std::vector<std::uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto byKey = [this](std::uint32_t a, std::uint32_t b) {
        return std::pair(keys[a], a) < std::pair(keys[b], b);
    };
    if (order.size() > most) {
        std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most),
                         order.end(), byKey);
        order.resize(most);
    }
    std::ranges::sort(order, byKey);
    reorder(order, keys);
    for (HeadScores& head : heads) {
        reorder(order, head.scores);
        reorder(order, head.labels);
    }
}

// docs/formats/scores.md has the layout. Integers and floats are in the machine's order, which is
// little-endian on all supported machines.
Status writeScores(const std::string& directory, const Scores& scores) {
    std::string bytes(kMagic, sizeof kMagic);
    put(bytes, kVersion);
    put(bytes, static_cast<std::uint32_t>(scores.heads.size()));
    put(bytes, static_cast<std::uint64_t>(scores.keys.size()));
    put(bytes, scores.rowsEvaluated);
    put(bytes, scores.step);
    bytes += scores.hash.substr(0, 32);
    bytes.append(32 - std::min<std::size_t>(scores.hash.size(), 32), '0');
    for (const HeadScores& head : scores.heads) {
        put(bytes, static_cast<std::uint32_t>(head.name.size()));
        bytes += head.name;
    }
    putAll(bytes, scores.keys);
    for (const HeadScores& head : scores.heads) {
        putAll(bytes, head.scores);
        putAll(bytes, head.labels);
    }
    std::string packed(ZSTD_compressBound(bytes.size()), '\0');
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
    // verifyScores() relies on zstd's own checksum of the content.
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    const std::size_t size =
        ZSTD_compress2(context, packed.data(), packed.size(), bytes.data(), bytes.size());
    ZSTD_freeCCtx(context);
    if (ZSTD_isError(size) != 0) {
        return resourceExhausted(directory, ": scores: ", ZSTD_getErrorName(size));
    }
    const ScoreName name{scores.step, scores.attempt};
    RETURN_IF_ERROR(writeFileAtomic(strCat(directory, "/", name.text()),
                                    std::string_view(packed).substr(0, size), 0600));
    // After the new file is in its place: a crash leaves two files, never none.
    dropOthers(directory, name);
    return okStatus();
}

void dropOthers(const std::string& directory, const ScoreName& kept) {
    dropScores(directory, [&](std::int64_t attempt, std::int64_t step) {
        return kept == ScoreName{step, attempt};
    });
}

Status verifyScores(int fd, const std::string& path) {
    const auto name = ScoreName::parse(std::filesystem::path(path).filename().string());
    FrameCheck check(path);
    std::string piece(kPieceBytes, '\0');
    for (off_t at = 0;;) {
        const ssize_t n = ::pread(fd, piece.data(), piece.size(), at);
        if (n < 0) {
            return errnoStatus(errno, path);
        }
        if (n == 0) {
            break;
        }
        RETURN_IF_ERROR(check.add(std::string_view(piece).substr(0, static_cast<std::size_t>(n))));
        at += n;
    }
    ASSIGN_OR_RETURN(const std::string head, check.finish());
    std::int64_t step = 0;
    std::memcpy(&step, head.data() + FrameCheck::kHeadBytes - sizeof step, sizeof step);
    const bool isOne = head.starts_with(std::string_view(kMagic, sizeof kMagic));
    return isOne && name.has_value() && name->step == step
               ? okStatus()
               : dataLoss(path, ": does not hold the scores that its name says");
}

Result<Scores> parseScores(const std::string& path, std::string_view bytes) {
    Reader reader(bytes);
    if (!bytes.starts_with(std::string_view(kMagic, sizeof kMagic))) {
        return dataLoss(path, ": no file of scores");
    }
    reader.takeBytes(sizeof kMagic);
    const auto version = reader.take<std::uint32_t>();
    if (version != kVersion) {
        return failedPrecondition(path, ": is of version ", version, "; this program reads ",
                                  kVersion);
    }
    Scores out;
    const auto heads = reader.take<std::uint32_t>();
    const auto rows = reader.take<std::uint64_t>();
    out.rowsEvaluated = reader.take<std::uint64_t>();
    out.step = reader.take<std::int64_t>();
    out.hash = reader.takeBytes(32);
    bool isFine =
        !reader.isBad() && heads <= kHeadsMost && rows <= kRowsMost && out.rowsEvaluated >= rows;
    for (std::uint32_t h = 0; isFine && h < heads; ++h) {
        const auto size = reader.take<std::uint32_t>();
        out.heads.emplace_back().name = reader.takeBytes(size <= kNameMost ? size : bytes.size());
        isFine = !reader.isBad();
    }
    if (isFine) {
        out.keys = reader.takeAll<std::uint64_t>(rows);
        for (HeadScores& head : out.heads) {
            head.scores = reader.takeAll<float>(rows);
            head.labels = reader.takeAll<float>(rows);
        }
    }
    if (!isFine || !reader.isWhole() || !std::ranges::is_sorted(out.keys)) {
        return dataLoss(path, ": holds what scores cannot be");
    }
    return out;
}

Result<Scores> readScores(const std::string& path) {
    ASSIGN_OR_RETURN(const std::string packed, readFile(path, kFileMost));
    const Result<std::string> bytes = unpacked(path, packed);
    RETURN_IF_ERROR(bytes.status());
    return parseScores(path, *bytes);
}

Result<std::string> findScores(const std::string& directory) {
    std::string found;
    std::int64_t newest = -1;
    for (const ScoreFile& file : filesIn(directory)) {
        if (file.name.step > newest) {
            newest = file.name.step;
            found = file.path.string();
        }
    }
    if (found.empty()) {
        return notFound(directory, ": no scores");
    }
    return found;
}

void dropScores(const std::string& directory,
                const std::function<bool(std::int64_t attempt, std::int64_t step)>& isOnCourse) {
    for (const ScoreFile& file : filesIn(directory)) {
        std::error_code ignored;
        if (!isOnCourse(file.name.attempt, file.name.step)) {
            std::filesystem::remove(file.path, ignored);
        }
    }
}

}  // namespace millrace::scores
