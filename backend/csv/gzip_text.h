#pragma once
// The text of a gzip file from any offset, for about the price of inflating it once: on the way,
// points are kept from which it can be inflated again (as in zlib's examples/zran.c).
//
// GzipPoints: any threads. GzipText: one at a time. Failure: kDataLoss for a damaged or truncated
// file; what FileSource says.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/files/file_source.h"

struct z_stream_s;

namespace millrace::csv {

/// A place in a gzip file between two blocks of its compressed text.
struct GzipPoint {
    std::int64_t text = 0;  ///< offset in the text
    std::int64_t file = 0;  ///< of the first whole byte that belongs to the next block
    int bits = 0;           ///< of the byte before, which belong to it too
    std::string window;     ///< up to 32 KiB of text before, which the next blocks refer to
};

/// The points of a dataset's files: at most 1,024, which take 32 MiB. Where more would be, every
/// second goes, and later ones lie twice as far apart.
class GzipPoints {
 public:
    /// The last one at or before an offset of a file's text; null: it begins at its start.
    std::shared_ptr<const GzipPoint> before(const std::string& path, std::int64_t text) const;
    /// The next offset behind `text` at which a point is wanted.
    std::int64_t nextWanted(const std::string& path, std::int64_t text) const;
    void add(const std::string& path, GzipPoint point);
    std::size_t count() const;

 private:
    using OfFile = std::map<std::int64_t, std::shared_ptr<const GzipPoint>>;
    void thin() MR_REQUIRES(mutex_);

    mutable Mutex mutex_;
    std::map<std::string, OfFile> files_ MR_GUARDED_BY(mutex_);
    std::size_t count_ MR_GUARDED_BY(mutex_) = 0;
    std::int64_t distance_ MR_GUARDED_BY(mutex_) = 64 << 10;  ///< bytes of text between points
};

class GzipText {
 public:
    /// `requestBytes`: read of the file at once. `points`: null where the text is read once,
    /// forwards.
    GzipText(std::string path, files::FileSource file, std::int64_t requestBytes,
             std::shared_ptr<GzipPoints> points);
    GzipText(const GzipText&) = delete;
    GzipText& operator=(const GzipText&) = delete;
    ~GzipText();

    /// Up to `bytes` bytes of text at `offset`; less only at the end.
    Result<std::int64_t> readSome(std::int64_t offset, std::int64_t bytes, char* out);

 private:
    Status startAt(const GzipPoint* point);
    Status goTo(std::int64_t offset);
    Result<std::int64_t> inflateSome(std::int64_t bytes, char* out);
    Status refill();
    Status passTrailer();
    Status endMember();
    void notePoint();

    const std::string path_;
    const files::FileSource file_;
    const std::shared_ptr<GzipPoints> points_;
    std::vector<unsigned char> block_;  ///< of the file
    const std::unique_ptr<z_stream_s> stream_;
    bool isOpen_ = false;      ///< stream_ is zlib's
    bool isRaw_ = false;       ///< begun at a point: without a header, and its trailer is ours
    bool isAtEnd_ = true;      ///< of the file's last member
    std::int64_t fileAt_ = 0;  ///< behind what was read of the file
    std::int64_t textAt_ = 0;
    std::int64_t nextPoint_ = 0;
};

}  // namespace millrace::csv
