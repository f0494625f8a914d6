#include "backend/feed/link/checkpoint_out.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "backend/core/whole_io.h"
#include "backend/feed/link/checkpoint_format.h"
#include "backend/stream/state/tiny_json.h"

namespace millrace::ring {
namespace {

// Bytes of the lines' JSON: above the first limit they become a tensor; above the second, no reader
// accepts them.
constexpr std::size_t kLinesInHeaderMax = std::size_t{16} << 20, kLinesMax = std::size_t{1} << 30;
constexpr std::size_t kAlignment = 8;

std::string jsonOf(const std::vector<std::string>& lines) {
    std::string list = "[";
    for (const std::string& line : lines) {
        list += (list.size() > 1 ? "," : "") + stream::quoteJson(line);
    }
    return list + "]";
}

std::string entry(std::string_view name, std::uint64_t begin, std::uint64_t bytes) {
    const std::string size = std::to_string(bytes);
    return ",\"" + std::string(name) + R"(":{"dtype":"U8","shape":[)" + size +
           "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(begin + bytes) +
           "]}";
}

}  // namespace

/// The header's content; its length does not depend on hashes.
struct CheckpointOut::Header {
    std::string facts, lines;  ///< `lines`: as JSON
    std::uint64_t contentBytes = 0;
    std::string contentHash = std::string(kChecksumDigits, '0'), linesHash = contentHash;

    bool hasLinesInside() const { return lines.size() <= kLinesInHeaderMax; }
    std::string text() const {
        const std::string hashes = stream::TinyJsonText().text("content", contentHash).object();
        const std::string both =
            stream::TinyJsonText().text("content", contentHash).text("unacked", linesHash).object();
        std::string text(kCheckpointBeginning);
        text += std::string(kChecksumDigits, '0') + "\"" + (facts.empty() ? "" : ",") + facts +
                R"(,"weights":"[]","tensor_hashes":)" +
                stream::quoteJson(hasLinesInside() ? hashes : both) +
                (hasLinesInside() ? R"(,"unacked":)" + stream::quoteJson(lines) : "") + "}" +
                entry(kContent, 0, contentBytes) +
                (hasLinesInside() ? "" : entry(kLines, contentBytes, lines.size())) + "}";
        text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
        return text;
    }
};

CheckpointOut::CheckpointOut(const std::string& directory, const std::string& name)
    : directory_(directory),
      path_(directory + "/" + name),
      aside_(path_ + ".tmp-" + std::to_string(::getpid())) {}

CheckpointOut::~CheckpointOut() {
    if (fd_ >= 0) {
        ::close(fd_);
        ::unlink(aside_.c_str());
    }
    if (source_ >= 0) {
        ::close(source_);
    }
}

bool CheckpointOut::write(const millrace_run_file& file, const std::vector<std::string>& lines) {
    if (!readFacts(file.facts) || !openSource(file)) {
        return false;
    }
    Header header{facts_, jsonOf(lines), contentBytes_};
    const std::uint64_t length = header.text().size();
    if (length > kHeaderMax || header.lines.size() > kLinesMax) {
        why = path_ + ": has " + std::to_string(length) + " bytes of header and " +
              std::to_string(header.lines.size()) +
              " of lines that the daemon has not acknowledged: more than can be kept. Start the "
              "daemon (millrace up)";
        return false;
    }
    fd_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd_ < 0) {
        return failed(aside_);
    }
    at_ = kLengthBytes + length;
    if (!putContent(file, header.contentHash)) {
        return false;
    }
    if (!header.hasLinesInside()) {
        CheckpointHash hash;
        hash.add(header.lines.data(), header.lines.size());
        header.linesHash = hash.hex();
        if (!put(header.lines.data(), header.lines.size(), at_)) {
            return false;
        }
        at_ += header.lines.size();
    }
    std::string text = header.text();
    checksum_ = headerChecksum(text);
    text.replace(kCheckpointBeginning.size(), kChecksumDigits, checksum_);
    return put(&length, sizeof length, 0) && put(text.data(), text.size(), sizeof length) &&
           commit();
}

bool CheckpointOut::failed(const std::string& place) {
    why = place + ": " + std::strerror(errno);
    return false;
}

// Requires an object of texts, none of which has a name that the file itself uses.
bool CheckpointOut::readFacts(std::string_view facts) {
    constexpr std::string_view kOwn[] = {"format", "checksum", "tensor_hashes", "weights",
                                         "unacked"};
    stream::TinyJson object;
    bool isFine =
        stream::TinyJson::parse(facts, object) && object.kind == stream::TinyJson::Kind::kObject;
    for (const stream::TinyJson::Member& member : object.members) {
        isFine = isFine && member.value.kind == stream::TinyJson::Kind::kText &&
                 std::find(std::begin(kOwn), std::end(kOwn), member.name) == std::end(kOwn);
    }
    if (!isFine) {
        why =
            path_ + ": its facts are not a JSON object of texts, or one of them is the file's own";
        return false;
    }
    if (!object.members.empty()) {
        facts_ = facts.substr(facts.find('{') + 1);
        facts_.erase(facts_.rfind('}'));
    }
    return true;
}

bool CheckpointOut::openSource(const millrace_run_file& file) {
    contentBytes_ = file.bytes;
    if (file.data != nullptr || file.source == nullptr) {
        return true;
    }
    source_ = ::open(file.source, O_RDONLY | O_CLOEXEC);
    const off_t end = source_ < 0 ? -1 : ::lseek(source_, 0, SEEK_END);
    if (end < 0 || ::lseek(source_, 0, SEEK_SET) != 0) {
        return failed(file.source);
    }
    contentBytes_ = static_cast<std::uint64_t>(end);
    return true;
}

bool CheckpointOut::putContent(const millrace_run_file& file, std::string& hash) {
    CheckpointHash sum;
    std::vector<char> piece(source_ < 0 ? 0
                                        : std::min<std::uint64_t>(kCheckpointPiece, contentBytes_));
    const std::uint64_t begin = at_, end = at_ + contentBytes_;
    while (at_ < end) {
        const std::uint64_t most = std::min<std::uint64_t>(kCheckpointPiece, end - at_);
        const char* from = static_cast<const char*>(file.data) + (at_ - begin);
        ssize_t n = static_cast<ssize_t>(most);
        if (source_ >= 0) {
            from = piece.data();
            n = ::read(source_, piece.data(), most);
        }
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n == 0) {
            why = std::string(file.source) + ": became shorter while it was read";
            return false;
        }
        if (n < 0) {
            return failed(file.source);
        }
        sum.add(from, static_cast<std::size_t>(n));
        if (!put(from, static_cast<std::uint64_t>(n), at_)) {
            return false;
        }
        at_ += static_cast<std::uint64_t>(n);
    }
    hash = sum.hex();
    return true;
}

bool CheckpointOut::put(const void* data, std::uint64_t bytes, std::uint64_t at) {
    return writeAllAt(fd_, {static_cast<const char*>(data), bytes}, at) || failed(path_);
}

bool CheckpointOut::commit() {
    if (::fsync(fd_) != 0 || ::rename(aside_.c_str(), path_.c_str()) != 0) {
        return failed(path_);
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

}  // namespace millrace::ring
