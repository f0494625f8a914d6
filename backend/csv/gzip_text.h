#pragma once
// Random access to the text of a gzip file, for about the price of inflating it once: saves points
// at which inflating can restart (as in zlib's examples/zran.c).
//
// GzipPoints: any threads. GzipText: one at a time. Failure: kDataLoss for a damaged or truncated
// file; FileSource's errors.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/files/file_source.h"

struct z_stream_s;  // NOLINT(readability-identifier-naming): the name is that of zlib

namespace millrace::csv {

/// A position in a gzip file between two blocks of its compressed data.
struct GzipPoint {
    std::int64_t text = 0;  ///< offset in the text
    std::int64_t file = 0;  ///< offset of the first byte that belongs only to the next block
    int bits = 0;           ///< bits of the previous byte that also belong to it
    std::string window;     ///< up to 32 KiB of preceding text, to which the next blocks refer
};

/// The saved points of a dataset's files: at most 1,024, which take 32 MiB. Beyond that, every
/// second one is dropped, and later ones are twice as far apart.
class GzipPoints {
 public:
    /// The last point at or before an offset of a file's text; null: none, so start at the
    /// beginning.
    std::shared_ptr<const GzipPoint> before(const std::string& path, std::int64_t text) const;
    /// The next offset after `text` at which to save a point.
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
    /// `requestBytes`: bytes per read of the file. `points`: null if the text is read once,
    /// forwards.
    GzipText(std::string path, files::FileSource file, std::int64_t requestBytes,
             std::shared_ptr<GzipPoints> points);
    GzipText(const GzipText&) = delete;
    GzipText& operator=(const GzipText&) = delete;
    ~GzipText();

    /// Reads up to `bytes` bytes of text at `offset`; fewer only at the end.
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
    std::vector<unsigned char> block_;  ///< bytes of the file
    const std::unique_ptr<z_stream_s> stream_;
    bool isOpen_ = false;      ///< stream_ is initialized by zlib
    bool isRaw_ = false;       ///< started at a point: without a header, and its trailer must be
                               ///< skipped
    bool isAtEnd_ = true;      ///< at the end of the file's last member
    std::int64_t fileAt_ = 0;  ///< end of what was read from the file
    std::int64_t textAt_ = 0;
    std::int64_t nextPoint_ = 0;
};

}  // namespace millrace::csv
