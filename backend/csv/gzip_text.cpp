#include "backend/csv/gzip_text.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <zlib.h>

namespace millrace::csv {
namespace {

constexpr std::size_t kPointsMost = 1024;
constexpr std::size_t kWindowBytes = 32 << 10;
constexpr int kGzip = 15 + 16, kRaw = -15;  // zlib's window bits: with a gzip header, without
constexpr std::int64_t kTrailerBytes = 8;   // checksum and length after a member
constexpr std::int64_t kSkipBytes = 256 << 10;

}  // namespace

std::shared_ptr<const GzipPoint> GzipPoints::before(const std::string& path,
                                                    std::int64_t text) const {
    MutexLock lock(mutex_);
    const auto file = files_.find(path);
    if (file == files_.end()) {
        return nullptr;
    }
    const auto after = file->second.upper_bound(text);
    return after == file->second.begin() ? nullptr : std::prev(after)->second;
}

std::int64_t GzipPoints::nextWanted(const std::string& path, std::int64_t text) const {
    MutexLock lock(mutex_);
    const auto file = files_.find(path);
    std::int64_t last = 0;
    if (file != files_.end() && !file->second.empty()) {
        last = file->second.rbegin()->first;  // points are added in ascending order
    }
    return std::max(last, text) + distance_;
}

void GzipPoints::add(const std::string& path, GzipPoint point) {
    MutexLock lock(mutex_);
    OfFile& file = files_[path];
    const std::int64_t text = point.text;
    if (!file.empty() && text < file.rbegin()->first + distance_) {
        return;  // another reader has added it
    }
    file.emplace(text, std::make_shared<const GzipPoint>(std::move(point)));
    if (++count_ > kPointsMost) {
        thin();
    }
}

std::size_t GzipPoints::count() const {
    MutexLock lock(mutex_);
    return count_;
}

void GzipPoints::thin() {
    distance_ *= 2;
    count_ = 0;
    for (auto& [path, file] : files_) {
        std::int64_t next = distance_;
        for (auto point = file.begin(); point != file.end();) {
            const bool isKept = point->first >= next;
            next = isKept ? point->first + distance_ : next;
            point = isKept ? std::next(point) : file.erase(point);
        }
        count_ += file.size();
    }
}

GzipText::GzipText(std::string path, files::FileSource file, std::int64_t requestBytes,
                   std::shared_ptr<GzipPoints> points)
    : path_(std::move(path)),
      file_(std::move(file)),
      points_(std::move(points)),
      block_(static_cast<std::size_t>(requestBytes)),
      stream_(std::make_unique<z_stream>()) {}

GzipText::~GzipText() {
    if (isOpen_) {
        ::inflateEnd(stream_.get());
    }
}

Status GzipText::startAt(const GzipPoint* point) {
    isRaw_ = point != nullptr;
    isAtEnd_ = false;
    textAt_ = isRaw_ ? point->text : 0;
    fileAt_ = isRaw_ ? point->file - (point->bits > 0 ? 1 : 0) : 0;
    stream_->avail_in = 0;
    nextPoint_ = points_ == nullptr ? std::numeric_limits<std::int64_t>::max()
                                    : points_->nextWanted(path_, textAt_);
    const int windowBits = isRaw_ ? kRaw : kGzip;
    const int begun = isOpen_ ? ::inflateReset2(stream_.get(), windowBits)
                              : ::inflateInit2(stream_.get(), windowBits);
    if (begun != Z_OK) {
        return resourceExhausted(path_, ": no memory to inflate it");
    }
    isOpen_ = true;
    if (isRaw_ && point->bits > 0) {
        RETURN_IF_ERROR(refill());
        const int byte = stream_->avail_in > 0 ? *stream_->next_in++ : 0;
        stream_->avail_in -= stream_->avail_in > 0 ? 1 : 0;
        ::inflatePrime(stream_.get(), point->bits, byte >> (8 - point->bits));
    }
    if (isRaw_) {
        ::inflateSetDictionary(stream_.get(),
                               reinterpret_cast<const unsigned char*>(point->window.data()),
                               static_cast<unsigned>(point->window.size()));
    }
    return okStatus();
}

Status GzipText::refill() {
    if (stream_->avail_in > 0) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(
        const std::int64_t read,
        file_.readSome(fileAt_, static_cast<std::int64_t>(block_.size()), block_.data()));
    RETURN_IF_ERROR(file_.error());
    fileAt_ += read;
    stream_->next_in = block_.data();
    stream_->avail_in = static_cast<unsigned>(read);
    return okStatus();
}

// A member that was entered at a saved point has a trailer that zlib does not read.
Status GzipText::passTrailer() {
    for (std::int64_t left = isRaw_ ? kTrailerBytes : 0; left > 0;) {
        RETURN_IF_ERROR(refill());
        if (stream_->avail_in == 0) {
            return dataLoss(path_, ": damaged or truncated: it ends before its checksum");
        }
        const auto taken = static_cast<unsigned>(
            std::min<std::int64_t>(left, static_cast<std::int64_t>(stream_->avail_in)));
        stream_->next_in += taken;
        stream_->avail_in -= taken;
        left -= taken;
    }
    return okStatus();
}

// A gzip file may have several members, one behind the other. Zero bytes behind a member are
// padding, as tar and dd write it and gzip passes it.
Status GzipText::endMember() {
    RETURN_IF_ERROR(passTrailer());
    RETURN_IF_ERROR(refill());
    while (stream_->avail_in > 0 && *stream_->next_in == 0) {
        ++stream_->next_in;
        --stream_->avail_in;
        RETURN_IF_ERROR(refill());
    }
    isRaw_ = false;
    isAtEnd_ = stream_->avail_in == 0;
    ::inflateReset2(stream_.get(), kGzip);  // keeps the input position
    return okStatus();
}

void GzipText::notePoint() {
    GzipPoint point;
    point.text = textAt_;
    point.file = fileAt_ - static_cast<std::int64_t>(stream_->avail_in);
    point.bits = stream_->data_type & 7;
    point.window.resize(kWindowBytes);
    unsigned size = 0;
    if (::inflateGetDictionary(stream_.get(), reinterpret_cast<unsigned char*>(point.window.data()),
                               &size) == Z_OK) {
        point.window.resize(size);
        points_->add(path_, std::move(point));
    }
    nextPoint_ = points_->nextWanted(path_, textAt_);
}

/// Inflates from textAt_ on; returns 0 at the end.
Result<std::int64_t> GzipText::inflateSome(std::int64_t bytes, char* out) {
    constexpr int kIsBlockEnd = 128, kIsLastBlock = 64;
    stream_->next_out = reinterpret_cast<unsigned char*>(out);
    stream_->avail_out =
        static_cast<unsigned>(std::min<std::int64_t>(bytes, std::numeric_limits<int>::max()));
    const unsigned wanted = stream_->avail_out;
    while (stream_->avail_out == wanted && !isAtEnd_) {
        RETURN_IF_ERROR(refill());
        const bool isPointDue = textAt_ >= nextPoint_;
        const int told = ::inflate(stream_.get(), isPointDue ? Z_BLOCK : Z_NO_FLUSH);
        textAt_ += wanted - stream_->avail_out;
        if (told == Z_STREAM_END) {
            RETURN_IF_ERROR(endMember());
        } else if (told == Z_BUF_ERROR && stream_->avail_in == 0) {
            return dataLoss(path_, ": damaged or truncated: it ends within its text");
        } else if (told != Z_OK && told != Z_BUF_ERROR) {
            return dataLoss(path_, ": damaged or truncated: ",
                            stream_->msg != nullptr ? stream_->msg : "zlib cannot inflate it");
        } else if (isPointDue && (stream_->data_type & kIsBlockEnd) != 0 &&
                   (stream_->data_type & kIsLastBlock) == 0) {
            notePoint();
        }
    }
    return wanted - static_cast<std::int64_t>(stream_->avail_out);
}

Status GzipText::goTo(std::int64_t offset) {
    const std::shared_ptr<const GzipPoint> point =
        points_ == nullptr ? nullptr : points_->before(path_, offset);
    const bool isNearer = point != nullptr && point->text > textAt_;
    if (!isOpen_ || offset < textAt_ || isNearer) {
        RETURN_IF_ERROR(startAt(point.get()));
    }
    std::vector<char> passed(
        static_cast<std::size_t>(std::clamp<std::int64_t>(offset - textAt_, 0, kSkipBytes)));
    while (textAt_ < offset) {
        const auto most = std::min(offset - textAt_, static_cast<std::int64_t>(passed.size()));
        ASSIGN_OR_RETURN(const std::int64_t read, inflateSome(most, passed.data()));
        if (read == 0) {
            break;
        }
    }
    return okStatus();
}

Result<std::int64_t> GzipText::readSome(std::int64_t offset, std::int64_t bytes, char* out) {
    RETURN_IF_ERROR(goTo(offset));
    std::int64_t done = 0;
    while (done < bytes && textAt_ == offset + done) {
        ASSIGN_OR_RETURN(const std::int64_t read, inflateSome(bytes - done, out + done));
        if (read == 0) {
            break;
        }
        done += read;
    }
    return done;
}

}  // namespace millrace::csv
