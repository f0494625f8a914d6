#include "backend/scores/score_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <optional>

#include <zstd.h>

#include "backend/core/files.h"
#include "backend/core/hash.h"
#include "backend/core/text.h"

namespace millrace::scores {
namespace {

constexpr char kMagic[8] = {'M', 'R', 'S', 'C', 'O', 'R', 'E', 'S'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kNameMost = 250;
constexpr std::size_t kFileMost = std::size_t{8} << 30;
constexpr int kLevel = 1;  // keys are hashes: nothing makes them smaller
constexpr std::string_view kPrefix = "scores-", kAttempt = ".a", kSuffix = ".zst";

template <class T>
void put(std::string& out, const T& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
void putAll(std::string& out, const std::vector<T>& values) {
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// What is left to read of a file's bytes. A read beyond the end makes it bad, and gives zeros.
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
        bytes.copy(reinterpret_cast<char*>(values.data()), bytes.size());  // of none: no address
        return values;
    }
    std::string_view takeBytes(std::size_t count) {
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
    std::int64_t step = 0, attempt = 0;
};

/// Of "scores-400.a2.zst"; nothing of another name.
std::optional<ScoreFile> parseName(const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) {
        return std::nullopt;
    }
    ScoreFile file{path};
    const char* end = name.data() + name.size() - kSuffix.size();
    const auto step = std::from_chars(name.data() + kPrefix.size(), end, file.step);
    const std::string_view rest(step.ptr, static_cast<std::size_t>(end - step.ptr));
    if (step.ec != std::errc() || !rest.starts_with(kAttempt)) {
        return std::nullopt;
    }
    const auto attempt = std::from_chars(step.ptr + kAttempt.size(), end, file.attempt);
    const bool isName = attempt.ec == std::errc() && attempt.ptr == end && file.step >= 0;
    return isName ? std::optional(file) : std::nullopt;
}

std::vector<ScoreFile> filesIn(const std::string& directory) {
    std::vector<ScoreFile> found;
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
        if (std::optional<ScoreFile> file = parseName(at->path())) {
            found.push_back(*std::move(file));
        }
    }
    return found;
}

template <class T>
void reorder(const std::vector<std::uint32_t>& order, std::vector<T>& values) {
    std::vector<T> out(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        out[i] = values[order[i]];
    }
    values = std::move(out);
}

}  // namespace

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
    std::sort(order.begin(), order.end(), byKey);
    reorder(order, keys);
    for (HeadScores& head : heads) {
        reorder(order, head.scores);
        reorder(order, head.labels);
    }
}

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
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    const std::size_t size =
        ZSTD_compress2(context, packed.data(), packed.size(), bytes.data(), bytes.size());
    ZSTD_freeCCtx(context);
    if (ZSTD_isError(size) != 0) {
        return resourceExhausted(directory, ": scores: ", ZSTD_getErrorName(size));
    }
    const std::string path =
        strCat(directory, "/", kPrefix, scores.step, kAttempt, scores.attempt, kSuffix);
    RETURN_IF_ERROR(writeFileAtomic(path, std::string_view(packed).substr(0, size), 0600));
    for (const ScoreFile& other : filesIn(directory)) {
        std::error_code ignored;
        if (other.path != std::filesystem::path(path)) {
            std::filesystem::remove(other.path, ignored);
        }
    }
    return okStatus();
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
    if (!isFine || !reader.isWhole() || !std::is_sorted(out.keys.begin(), out.keys.end())) {
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
        if (file.step > newest) {
            newest = file.step;
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
        if (!isOnCourse(file.attempt, file.step)) {
            std::filesystem::remove(file.path, ignored);
        }
    }
}

}  // namespace millrace::scores
