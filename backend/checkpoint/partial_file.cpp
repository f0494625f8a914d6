#include "backend/checkpoint/partial_file.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/hash.h"
#include "backend/filesystem/directories.h"

namespace millrace::checkpoint {
namespace {

// Space to leave free beside a checkpoint: for the store and for logs.
constexpr std::uint64_t kReserveBytes = 1'000'000;

std::string asideOf(const std::string& path) {
    return path + ".tmp-part";
}

}  // namespace

std::uint64_t PartialFile::bytesOf(const std::string& path) {
    struct stat info{};
    return ::stat(asideOf(path).c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

Result<PartialFile> PartialFile::open(const std::string& path, std::uint64_t bytes) {
    const std::string aside = asideOf(path);
    UniqueFd fd(::open(aside.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    struct stat info{};
    if (!fd.isOpen() || ::fstat(fd.get(), &info) != 0) {
        return errnoStatus(errno, aside);
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        return unavailable(path, ": another transfer of it is under way");
    }
    std::uint64_t offset = static_cast<std::uint64_t>(info.st_size);
    if (offset > bytes) {  // remains of another file
        if (::ftruncate(fd.get(), 0) != 0) {
            return errnoStatus(errno, aside);
        }
        offset = 0;
    }
    const std::string directory = std::filesystem::path(path).parent_path().string();
    RETURN_IF_ERROR(checkRoom(directory, bytes - offset + kReserveBytes, "the file"));
    return PartialFile(path, std::move(fd), bytes, offset);
}

Status PartialFile::append(std::uint64_t offset, std::string_view chunk, std::string_view hash) {
    if (offset != offset_ || chunk.empty() || chunk.size() > bytes_ - offset_) {
        return Status(absl::StatusCode::kOutOfRange,
                      strCat(path_, ": ", chunk.size(), " bytes came for offset ", offset,
                             "; what follows ", offset_, " of ", bytes_, " is wanted"));
    }
    if (hashHex(chunk) != hash) {
        return dataLoss(path_, ": the chunk at offset ", offset, " was damaged on its way");
    }
    for (std::size_t done = 0; done < chunk.size();) {
        const ssize_t n = ::pwrite(fd_.get(), chunk.data() + done, chunk.size() - done,
                                   static_cast<off_t>(offset_));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return errnoStatus(errno, path_);
        }
        done += static_cast<std::size_t>(n);
        offset_ += static_cast<std::uint64_t>(n);
    }
    return okStatus();
}

Status PartialFile::finish(const Verify& verify) {
    const std::string aside = asideOf(path_);
    const Status whole = verify(fd_.get());
    if (absl::IsDataLoss(whole)) {
        ::unlink(aside.c_str());
    }
    RETURN_IF_ERROR(whole);
    if (::fsync(fd_.get()) != 0 || ::rename(aside.c_str(), path_.c_str()) != 0) {
        return errnoStatus(errno, path_);
    }
    return syncParent(path_);
}

Result<std::string> readChunk(int fd, std::uint64_t offset, const std::string& path) {
    std::string chunk(PartialFile::kChunkBytes, '\0');
    const ssize_t n = ::pread(fd, chunk.data(), chunk.size(), static_cast<off_t>(offset));
    if (n <= 0) {
        return n < 0 ? errnoStatus(errno, path) : dataLoss(path, ": has become shorter");
    }
    chunk.resize(static_cast<std::size_t>(n));
    return chunk;
}

Result<std::string> hashOfChunks(int fd, std::uint64_t bytes, const std::string& path) {
    std::string hashes;
    for (std::uint64_t offset = 0; offset < bytes;) {
        ASSIGN_OR_RETURN(const std::string chunk, readChunk(fd, offset, path));
        hashes += hashHex(chunk);
        offset += chunk.size();
    }
    return hashHex(hashes);
}

}  // namespace millrace::checkpoint
