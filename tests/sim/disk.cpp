#include "tests/sim/disk.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "tests/sim/disk_calls.h"

namespace millrace::sim {
namespace {

/// All disks, because system calls name files and not disks.
struct Disks {
    Mutex mutex;
    std::vector<std::pair<std::string, Disk*>> all MR_GUARDED_BY(mutex);
};

Disks& disks() {
    static Disks* const one = new Disks;  // never destroyed: calls come until the process ends
    return *one;
}

}  // namespace

DiskFile::~DiskFile() {
    system::closeFile(fd_);
}

std::int64_t DiskFile::bytes() const {
    struct stat info{};
    return ::fstat(fd_, &info) == 0 ? info.st_size : 0;
}

void DiskFile::changes(std::int64_t at, std::int64_t count) {
    const std::int64_t end = std::min(at + count, syncedBytes_);
    for (std::int64_t page = at / kPage; page * kPage < end; ++page) {
        std::string& before = before_[page];
        if (before.empty()) {
            before.resize(static_cast<std::size_t>(kPage));
            const ssize_t n = ::pread(fd_, before.data(), before.size(), page * kPage);
            before.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        }
    }
}

void DiskFile::synced() {
    before_.clear();
    syncedBytes_ = bytes();
}

bool DiskFile::isSettled() const {
    struct stat info{};
    const bool isNamed = ::fstat(fd_, &info) == 0 && info.st_nlink > 0;
    return !isNamed || (before_.empty() && info.st_size == syncedBytes_);
}

void DiskFile::restore(std::int64_t page, const std::string& bytes) const {
    system::writeAt(fd_, bytes.data(), bytes.size(), page * kPage);
}

void DiskFile::forget(World& world) {
    enum { kAll, kNothing, kSome };
    const std::int64_t lost = world.draw(kSome);
    if (lost == kNothing) {
        return synced();
    }
    for (const auto& [page, before] : before_) {
        if (lost == kAll || world.chance(50)) {
            restore(page, before);
        }
    }
    const std::int64_t size = bytes();
    if (lost == kAll || size < syncedBytes_ || world.chance(50)) {
        system::truncate(fd_, syncedBytes_);
    } else {
        const std::string zeros(static_cast<std::size_t>(kPage), '\0');
        for (std::int64_t page = (syncedBytes_ + kPage - 1) / kPage; page * kPage < size; ++page) {
            if (world.chance(50)) {
                const std::int64_t count = std::min(kPage, size - page * kPage);
                restore(page, zeros.substr(0, static_cast<std::size_t>(count)));
            }
        }
    }
    synced();
}

Disk::Disk(World& world, std::string root, bool isForgetful)
    : world_(world),
      root_(std::move(root)),
      graves_(root_ + ".removed"),
      isForgetful_(isForgetful) {
    std::filesystem::create_directories(graves_);
    MutexLock lock(disks().mutex);
    disks().all.emplace_back(root_ + "/", this);
}

Disk::~Disk() {
    {
        MutexLock lock(disks().mutex);
        std::erase_if(disks().all, [this](const auto& one) { return one.second == this; });
    }
    std::filesystem::remove_all(graves_);
}

Disk* Disk::of(std::string_view path) {
    // SQLite's shared index of the log is left out: it is built again from the log.
    if (path.ends_with("-shm")) {
        return nullptr;
    }
    MutexLock lock(disks().mutex);
    for (const auto& [root, disk] : disks().all) {
        if (path.starts_with(root)) {
            return disk;
        }
    }
    return nullptr;
}

int Disk::refusal(Call call, const std::string& path) {
    if (isDead_) {
        return call == Call::kOpen ? 0 : EIO;
    }
    const bool isHit = callsToFailure_ == 0;
    callsToFailure_ = std::max<std::int64_t>(callsToFailure_ - 1, -1);
    const bool isHitToo =
        world_.nowNs() < failsUntilNs_ && path.find(failsOnly_) != std::string::npos;
    if (isHit || isHitToo) {
        const std::string shown = path.substr(root_.rfind('/') + 1);
        world_.tell("a call fails: " + shown.substr(0, shown.find(".tmp-")));  // without a count
        return EIO;
    }
    return call == Call::kGrow && world_.nowNs() < fullUntilNs_ ? ENOSPC : 0;
}

std::shared_ptr<DiskFile> Disk::opened(const std::string& path, bool isNew) {
    if (!isForgetful_) {
        return nullptr;
    }
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
        return nullptr;
    }
    const auto [number, isUnknown] = numbers_.try_emplace(info.st_ino, numFiles_);
    std::shared_ptr<DiskFile>& file = files_[number->second];
    if (isUnknown) {
        ++numFiles_;
        const int fd = system::openFile(path.c_str(), O_RDWR | O_CLOEXEC, 0);
        file = std::make_shared<DiskFile>(fd, isNew ? 0 : info.st_size);
    }
    ++file->users;
    return file;
}

void Disk::closed(const std::shared_ptr<DiskFile>& file) {
    if (--file->users == 0 && file->isSettled()) {
        dropSynced();
    }
}

void Disk::dropSynced() {
    std::erase_if(numbers_, [this](const auto& number) {
        const DiskFile& file = *files_[number.second];
        return file.users == 0 && file.isSettled() && files_.erase(number.second) > 0;
    });
}

std::string Disk::bury(const std::string& path) {
    std::string grave = strCat(graves_, "/", numGraves_);
    const bool isKept = isForgetful_ && ::link(path.c_str(), grave.c_str()) == 0;
    numGraves_ += isKept ? 1 : 0;
    return isKept ? grave : "";
}

void Disk::changed(Change change) {
    if (isForgetful_) {
        changes_.push_back(std::move(change));
    }
}

void Disk::syncedNames() {
    for (const Change& change : changes_) {
        system::remove(change.grave.c_str());
    }
    changes_.clear();
    dropSynced();
}

void Disk::undo(const Change& change) {
    switch (change.kind) {
        case Change::Kind::kMade:
            system::remove(change.path.c_str());
            break;
        case Change::Kind::kMadeDirectory:
            std::filesystem::remove_all(change.path);
            break;
        case Change::Kind::kMoved:
            system::rename(change.path.c_str(), change.from.c_str());
            break;
        case Change::Kind::kRemoved:
            break;
        case Change::Kind::kRemovedDirectory:
            system::makeDirectory(change.path.c_str(), 0700);
            break;
    }
    if (!change.grave.empty()) {
        system::rename(change.grave.c_str(), change.path.c_str());
    }
}

void Disk::cutPower() {
    fullUntilNs_ = failsUntilNs_ = 0;
    callsToFailure_ = -1;
    const auto kept =
        static_cast<std::size_t>(world_.draw(static_cast<std::int64_t>(changes_.size())));
    world_.tell(strCat("power cut: ", changes_.size() - kept, " of ", changes_.size(),
                       " changes of names and the writes to some of ", files_.size(),
                       " files are lost"));
    std::vector<Change> lost(changes_.begin() + static_cast<std::ptrdiff_t>(kept), changes_.end());
    changes_.resize(kept);
    syncedNames();
    for (auto change = lost.rbegin(); change != lost.rend(); ++change) {
        undo(*change);
    }
    for (const auto& [number, file] : files_) {
        file->forget(world_);
    }
    dropSynced();
}

}  // namespace millrace::sim
