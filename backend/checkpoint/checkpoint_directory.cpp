#include "backend/checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
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
    // Uses a descriptor of its own, as reading moves the offset.
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
    std::ranges::sort(found, std::greater<>());
    return found;
}

Result<UniqueFd> CheckpointDirectory::openFile(const std::string& name) const {
    // Does not follow links, and never blocks on a pipe.
    UniqueFd fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.isOpen()) {
        return errnoStatus(errno, strCat(path_, "/", name));
    }
    return fd;
}

Result<CheckpointInfo> CheckpointDirectory::facts(const CheckpointName& name) const {
    ASSIGN_OR_RETURN(const UniqueFd fd, openFile(name.text()));
    return readFacts(fd.get(), pathOf(name));
}

Result<CheckpointInfo> CheckpointDirectory::bestFacts() const {
    ASSIGN_OR_RETURN(const UniqueFd fd, openFile(kBestName));
    return readFacts(fd.get(), strCat(path_, "/", kBestName));
}

Result<CheckpointInfo> CheckpointDirectory::verify(const CheckpointName& name,
                                                   const ReadWatch& watch) const {
    ASSIGN_OR_RETURN(const UniqueFd fd, openFile(name.text()));
    const std::string place = pathOf(name);
    ASSIGN_OR_RETURN(CheckpointInfo facts, checkpoint::verify(fd.get(), place, watch));
    if (facts.step != name.step || facts.attempt != name.attempt) {
        return damaged(place, "its content is of step ", facts.step, " and attempt ",
                       facts.attempt);
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
    return moveAside(name.text(), name.text(), why);
}

Result<std::string> CheckpointDirectory::moveAside(const std::string& from, const std::string& stem,
                                                   std::string_view why) const {
    for (int number = 1; number <= kMostAsides; ++number) {
        const std::string to =
            number == 1 ? strCat(stem, ".", why) : strCat(stem, ".", why, "-", number);
        if (::faccessat(fd_.get(), to.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            continue;
        }
        if (::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) != 0) {
            return errnoStatus(errno, strCat(path_, "/", from));
        }
        ::fsync(fd_.get());
        return to;
    }
    return resourceExhausted(path_, "/", stem, ": ", kMostAsides, " files are set aside already");
}

Status CheckpointDirectory::linkAsBest(const CheckpointName& name) const {
    const std::string from = name.text(), aside = from + ".tmp-best";
    ::unlinkat(fd_.get(), aside.c_str(), 0);
    // Links and then renames: the name always refers to a complete file.
    if (::linkat(fd_.get(), from.c_str(), fd_.get(), aside.c_str(), 0) != 0 ||
        ::renameat(fd_.get(), aside.c_str(), fd_.get(), kBestName) != 0) {
        return errnoStatus(errno, strCat(path_, "/", kBestName));
    }
    ::unlinkat(fd_.get(), aside.c_str(), 0);  // still exists if both names were the same file's
    return ::fsync(fd_.get()) == 0 ? okStatus() : errnoStatus(errno, path_);
}

Status CheckpointDirectory::replaceBest(const CheckpointInfo& facts, std::string_view why,
                                        const std::optional<CheckpointName>& next) const {
    const Result<CheckpointInfo> now = bestFacts();
    if (!now.ok() || now->step != facts.step || now->attempt != facts.attempt) {
        return okStatus();  // a trainer has given the name to a newer file
    }
    struct stat info{};
    if (::fstatat(fd_.get(), kBestName, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return errnoStatus(errno, strCat(path_, "/", kBestName));
    }
    if (info.st_nlink == 1) {
        const CheckpointName name{facts.step, static_cast<int>(facts.attempt)};
        RETURN_IF_ERROR(moveAside(kBestName, name.text(), why).status());
    } else if (!next.has_value() && ::unlinkat(fd_.get(), kBestName, 0) != 0) {
        return errnoStatus(errno, strCat(path_, "/", kBestName));
    }
    if (next.has_value()) {
        return linkAsBest(*next);
    }
    return ::fsync(fd_.get()) == 0 ? okStatus() : errnoStatus(errno, path_);
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
