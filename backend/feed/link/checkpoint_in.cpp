#include "backend/feed/link/checkpoint_in.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/whole_io.h"
#include "backend/feed/feed_reader.h"
#include "backend/feed/link/checkpoint_format.h"

namespace millrace::ring {
namespace {

/// Bytes of a value; 0: the type is unknown.
std::int64_t widthOf(std::string_view dtype) {
    constexpr std::string_view kWidths[] = {"F64", "I64", "F32", "I32", "BF16", "F16", "U8"};
    constexpr std::int64_t kBytes[] = {8, 8, 4, 4, 2, 2, 1};
    const auto* found = std::find(std::begin(kWidths), std::end(kWidths), dtype);
    return found == std::end(kWidths) ? 0 : kBytes[found - std::begin(kWidths)];
}

}  // namespace

CheckpointIn::~CheckpointIn() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

int CheckpointIn::read(bool isWhole) {
    struct stat info{};
    fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0 || ::fstat(fd_, &info) != 0) {
        return failed(std::strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return damaged("is not a file");
    }
    size_ = static_cast<std::uint64_t>(info.st_size);
    if (const int result = readHeader()) {
        return result;
    }
    if (!stream::TinyJson::parse(text_, header_) || header_.members.empty()) {
        return damaged("its header is not JSON");
    }
    metadata_ = &header_.members.front().value;
    const int result = placeTensors();
    return result == 0 && isWhole ? checkValues() : result;
}

std::uint64_t CheckpointIn::values() const {
    return kLengthBytes + text_.size();
}

int CheckpointIn::failed(const std::string& text) {
    why = "checkpoint " + path_ + " cannot be read: " + text;
    return MILLRACE_FEED_FAILED;
}

int CheckpointIn::damaged(const std::string& text) {
    why = "checkpoint " + path_ + ": " + text + "; it cannot be used";
    return MILLRACE_FEED_CORRUPT;
}

int CheckpointIn::readAt(std::uint64_t from, char* to, std::uint64_t bytes) {
    const ssize_t n = readAllAt(fd_, to, bytes, from);
    if (n < 0) {
        return failed(std::strerror(errno));
    }
    return static_cast<std::uint64_t>(n) == bytes ? 0
                                                  : damaged("has become shorter while it was read");
}

int CheckpointIn::readHeader() {
    std::uint64_t length = 0;
    std::string start(kCheckpointBeginning.size(), '\0');
    if (size_ < kLengthBytes + start.size()) {
        return damaged("is not a checkpoint (" + std::to_string(size_) + " bytes)");
    }
    int result = readAt(0, reinterpret_cast<char*>(&length), sizeof length);
    result = result != 0 ? result : readAt(kLengthBytes, start.data(), start.size());
    if (result != 0) {
        return result;
    }
    if (start != kCheckpointBeginning) {
        const std::size_t version = kCheckpointStem.size();
        const std::size_t end = start.find('"', version);
        const std::string number = start.substr(version, end - version);
        if (!start.starts_with(kCheckpointStem) || end == start.npos || number == "2" ||
            number.empty() || number.find_first_not_of("0123456789") != number.npos) {
            return damaged("does not begin like a checkpoint");
        }
        why = "checkpoint " + path_ + ": has format version " + number +
              "; this version of Millrace loads 2";
        return MILLRACE_FEED_INVALID;
    }
    if (length > size_ - kLengthBytes || length > kHeaderMax ||
        length < kCheckpointBeginning.size() + kChecksumDigits) {
        return damaged("is cut short, or its header cannot have " + std::to_string(length) +
                       " of its " + std::to_string(size_) + " bytes");
    }
    text_.resize(length);
    result = readAt(kLengthBytes, text_.data(), length);
    if (result != 0) {
        return result;
    }
    return text_.substr(kCheckpointBeginning.size(), kChecksumDigits) == headerChecksum(text_)
               ? 0
               : damaged("its checksum does not fit its header");
}

// The tensors must be contiguous up to the file's last byte.
int CheckpointIn::placeTensors() {
    std::set<std::string_view> names;
    for (const auto& [name, entry] : header_.members) {
        Tensor tensor{name};
        if (!names.insert(name).second) {
            return damaged("its header names '" + name + "' twice");
        }
        if (&entry == metadata_) {
            continue;
        }
        if (!isPlaced(entry, tensor)) {
            return damaged("tensor " + name + " is not as long as its shape makes it");
        }
        tensors_.push_back(tensor);
    }
    std::ranges::sort(tensors_, [](const Tensor& a, const Tensor& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    const auto room = static_cast<std::int64_t>(size_ - values());
    std::int64_t end = 0;
    for (const Tensor& tensor : tensors_) {
        if (tensor.begin != end) {
            return damaged("tensor " + std::string(tensor.name) + " is not where it belongs");
        }
        if (tensor.end > room) {
            return damaged("is cut short: tensor " + std::string(tensor.name) + " ends behind it");
        }
        end = tensor.end;
    }
    return end == room
               ? 0
               : damaged("has " + std::to_string(room - end) + " bytes behind its last tensor");
}

bool CheckpointIn::isPlaced(const stream::TinyJson& entry, Tensor& to) {
    std::string dtype;
    const stream::TinyJson* shape = entry.find("shape");
    const stream::TinyJson* offsets = entry.find("data_offsets");
    if (shape == nullptr || shape->kind != stream::TinyJson::Kind::kList || offsets == nullptr ||
        !offsets->readPair(to.begin, to.end) || !entry.readText("dtype", dtype)) {
        return false;
    }
    std::int64_t bytes = widthOf(dtype);
    bool isFine = bytes > 0 && to.begin <= to.end;
    for (const stream::TinyJson& size : shape->items) {
        isFine = isFine && size.isCount() && !__builtin_mul_overflow(bytes, size.count, &bytes);
    }
    return isFine && bytes == to.end - to.begin;
}

int CheckpointIn::checkValues() {
    std::string text, told;
    stream::TinyJson hashes;
    if (!metadata_->readText("tensor_hashes", text) || !stream::TinyJson::parse(text, hashes)) {
        return damaged("has no tensor_hashes");
    }
    std::vector<char> piece(kCheckpointPiece);
    for (const Tensor& tensor : tensors_) {
        CheckpointHash hash;
        const std::uint64_t end = values() + static_cast<std::uint64_t>(tensor.end);
        for (std::uint64_t at = values() + static_cast<std::uint64_t>(tensor.begin); at < end;) {
            const std::uint64_t bytes = std::min<std::uint64_t>(piece.size(), end - at);
            if (const int result = readAt(at, piece.data(), bytes)) {
                return result;
            }
            hash.add(piece.data(), bytes);
            at += bytes;
        }
        if (!hashes.readText(tensor.name, told) || told != hash.hex()) {
            return damaged("the values of tensor " + std::string(tensor.name) +
                           " do not fit their checksum");
        }
    }
    return 0;
}

int CheckpointIn::lines(std::vector<std::string>& out) {
    std::string text;
    metadata_->readText(kLines, text);
    const auto tensor =
        std::ranges::find_if(tensors_, [](const Tensor& one) { return one.name == kLines; });
    if (tensor != tensors_.end()) {
        text.resize(static_cast<std::size_t>(tensor->end - tensor->begin));
        if (const int result = readAt(values() + static_cast<std::uint64_t>(tensor->begin),
                                      text.data(), text.size())) {
            return result;
        }
    }
    stream::TinyJson list;
    if (!stream::TinyJson::parse(text, list) || list.kind != stream::TinyJson::Kind::kList) {
        return damaged("its lines that were not acknowledged cannot be read");
    }
    for (stream::TinyJson& line : list.items) {
        out.push_back(std::move(line.text));
    }
    return 0;
}

}  // namespace millrace::ring
