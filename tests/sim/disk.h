#pragma once
// Disk: the folder of a simulated machine as its disk. It fills up, fails, and loses data that was
// not synced in a power cut.
//
// System calls of the program arrive here first (disk_calls.cpp), so that the product, SQLite and
// the standard library are all covered without a seam in the product.
// Model of a power cut: a file keeps its content at the last sync, and of each later write
// everything, nothing or any 4 KiB pages; names keep all changes up to the last fsync of a folder
// of this disk, as with a journal, and any number of the later ones, in order. Threads: one, that
// of the simulated machines; calls of other threads go to other files. Owns: the folder that keeps
// removed files until their removal is synced.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/world.h"

namespace millrace::sim {

/// A file that is open or has writes that were not synced.
class DiskFile {
 public:
    DiskFile(int fd, std::int64_t syncedBytes) : fd_(fd), syncedBytes_(syncedBytes) {}
    DiskFile(const DiskFile&) = delete;
    DiskFile& operator=(const DiskFile&) = delete;
    ~DiskFile();

    std::int64_t bytes() const;
    /// Saves these bytes before they change.
    void changes(std::int64_t at, std::int64_t bytes);
    void synced();
    /// Whether a power cut would lose nothing of the file, or no name refers to it.
    bool isSettled() const;
    /// Loses all or a part of the data that was not synced.
    void forget(World& world);

    int users = 0;  ///< descriptors

 private:
    static constexpr std::int64_t kPage = 4096;
    void restore(std::int64_t page, const std::string& bytes) const;

    const int fd_;
    std::int64_t syncedBytes_;
    std::map<std::int64_t, std::string> before_;  ///< synced pages that were changed, by number
};

class Disk {
 public:
    /// Calls of the simulated processes.
    enum class Call {
        kOpen,
        kGrow,  ///< needs more room
        kChange,
        kSync
    };

    /// `isForgetful`: the plan has a power cut, so the disk keeps what it needs to undo changes.
    Disk(World& world, std::string root, bool isForgetful);
    ~Disk();
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;

    // Faults.
    void fill(std::int64_t ns) { fullUntilNs_ = world_.nowNs() + ns; }
    /// `only`: calls fail for paths with this text; "": for all.
    void fail(std::int64_t ns, std::string only = "") {
        failsUntilNs_ = world_.nowNs() + ns;
        failsOnly_ = std::move(only);
    }
    /// One call fails after `after` successful ones.
    void failOnce(std::int64_t after) { callsToFailure_ = after; }
    /// Cancels the failure of a call.
    void failNone() { callsToFailure_ = -1; }
    void cutPower();
    bool isWell() const { return world_.nowNs() >= std::max(fullUntilNs_, failsUntilNs_); }

    /// While this object lives, the process whose objects are being destroyed is dead: its calls
    /// change nothing.
    class Dead {
     public:
        explicit Dead(Disk& disk) : disk_(disk) { disk_.isDead_ = true; }
        ~Dead() { disk_.isDead_ = false; }
        Dead(const Dead&) = delete;
        Dead& operator=(const Dead&) = delete;

     private:
        Disk& disk_;
    };

    // For disk_calls.cpp.
    /// The disk of a path; null: the path is on no disk.
    static Disk* of(std::string_view path);
    /// The error that this call must return; 0: none.
    int refusal(Call call, const std::string& path);
    std::shared_ptr<DiskFile> opened(const std::string& path, bool isNew);
    void closed(const std::shared_ptr<DiskFile>& file);
    /// A change of names.
    struct Change {
        enum class Kind { kMade, kMadeDirectory, kMoved, kRemoved, kRemovedDirectory };
        Kind kind = Kind::kMade;
        std::string path, from;
        std::string grave;  ///< a link to the file that was removed or replaced, or ""
    };
    /// Keeps a file that is about to be removed or replaced; returns the name of the copy, its
    /// grave.
    std::string bury(const std::string& path);
    void changed(Change change);
    /// Called when a folder was synced.
    void syncedNames();

 private:
    static void undo(const Change& change);
    void dropSynced();

    World& world_;
    const std::string root_, graves_;
    const bool isForgetful_;
    bool isDead_ = false;
    std::int64_t fullUntilNs_ = 0, failsUntilNs_ = 0, callsToFailure_ = -1;
    std::string failsOnly_;
    std::int64_t numGraves_ = 0, numFiles_ = 0;
    std::vector<Change> changes_;                    ///< changes of names that are not synced
    std::map<std::uint64_t, std::int64_t> numbers_;  ///< numbers of files by inode
    std::map<std::int64_t, std::shared_ptr<DiskFile>> files_;  ///< by the order of first use
};

}  // namespace millrace::sim
