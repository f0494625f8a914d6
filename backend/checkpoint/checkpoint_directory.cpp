#include "backend/checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace millrace::checkpoint {
namespace {

constexpr int kMostAsides = 10'000;

}  // namespace

Result<CheckpointDirectory> CheckpointDirectory::open(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.isOpen()) {
        return errnoStatus(errno, path);
    }
    return CheckpointDirectory(path, std::move(fd));
}

Result<std::vector<std::string>> CheckpointDirectory::entries() const {
    // A description of its own: reading moves the offset.
    UniqueFd fd(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.isOpen()) {
        return errnoStatus(errno, path_);
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd.get()), &::closedir);
    if (directory == nullptr) {
        return errnoStatus(errno, path_);
    }
    (void)fd.release();
    std::vector<std::string> names;
    for (;;) {
        errno = 0;
        const dirent* entry = ::readdir(directory.get());
        if (entry == nullptr) {
            if (errno != 0) {
                return errnoStatus(errno, path_);
            }
            return names;
        }
        names.emplace_back(entry->d_name);
    }
}

Result<std::vector<CheckpointName>> CheckpointDirectory::list() const {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, entries());
    std::vector<CheckpointName> found;
    for (const std::string& name : names) {
        if (const auto parsed = CheckpointName::parse(name)) {
            found.push_back(*parsed);
        }
    }
    std::sort(found.begin(), found.end(), std::greater<>());
    return found;
}

Result<UniqueFd> CheckpointDirectory::openFile(const CheckpointName& name) const {
    // Not through a link, and never waiting for the other end of a pipe.
    UniqueFd fd(
        ::openat(fd_.get(), name.text().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.isOpen()) {
        return errnoStatus(errno, pathOf(name));
    }
    return fd;
}

Result<CheckpointFacts> CheckpointDirectory::facts(const CheckpointName& name) const {
    ASSIGN_OR_RETURN(const UniqueFd fd, openFile(name));
    return readFacts(fd.get(), pathOf(name));
}

Result<CheckpointFacts> CheckpointDirectory::verify(const CheckpointName& name,
                                                    const ReadWatch& watch) const {
    ASSIGN_OR_RETURN(const UniqueFd fd, openFile(name));
    const std::string place = pathOf(name);
    ASSIGN_OR_RETURN(CheckpointFacts facts, checkpoint::verify(fd.get(), place, watch));
    if (facts.step != name.step || (name.attempt >= 0 && facts.attempt != name.attempt)) {
        return damaged(
            place, strCat("its content is of step ", facts.step, " and attempt ", facts.attempt));
    }
    return facts;
}

Status CheckpointDirectory::remove(const CheckpointName& name) const {
    if (::unlinkat(fd_.get(), name.text().c_str(), 0) != 0 && errno != ENOENT) {
        return errnoStatus(errno, pathOf(name));
    }
    return okStatus();
}

Result<std::string> CheckpointDirectory::setAside(const CheckpointName& name,
                                                  std::string_view why) const {
    const std::string from = name.text();
    for (int number = 1; number <= kMostAsides; ++number) {
        const std::string to =
            number == 1 ? strCat(from, ".", why) : strCat(from, ".", why, "-", number);
        if (::faccessat(fd_.get(), to.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            continue;
        }
        if (::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) != 0) {
            return errnoStatus(errno, pathOf(name));
        }
        ::fsync(fd_.get());
        return to;
    }
    return resourceExhausted(pathOf(name), ": ", kMostAsides, " files are set aside already");
}

Status CheckpointDirectory::removeLeftovers() const {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, entries());
    for (const std::string& name : names) {
        if (isLeftover(name) && ::unlinkat(fd_.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
            return errnoStatus(errno, path_ + "/" + name);
        }
    }
    return okStatus();
}

}  // namespace millrace::checkpoint
