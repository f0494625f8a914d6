#pragma once
// Disk: the folder of a simulated machine as its disk. It fills up, fails, and loses at a power cut
// what was not synced.
//
// The program's system calls come here first (disk_calls.cpp), so that the product, SQLite and the
// standard library are all covered, and the product has no seam for it.
// Model of what survives a power cut: of a file, what was there when it was last synced, and of
// each later write all, nothing or any 4 KiB pages; of names, all changes up to the last fsync of
// a folder of this disk, as with a journal, and any number of the later ones, in order.
// Threads: one, that of the simulated machines; calls of others are to other files. Owns: the
// folder that keeps removed files until their removal is synced.
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
    /// Keeps what these bytes are before they change.
    void changes(std::int64_t at, std::int64_t bytes);
    void synced();
    /// A power cut would lose nothing of it, or no name refers to it.
    bool isSettled() const;
    /// Loses what was not synced, or a part of it.
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
        kGrow,  ///< it needs room
        kChange,
        kSync
    };

    /// `isForgetful`: there will be a power cut, so it keeps what that undoes.
    Disk(World& world, std::string root, bool isForgetful);
    ~Disk();
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;

    // Faults.
    void fill(std::int64_t ns) { fullUntilNs_ = world_.nowNs() + ns; }
    /// `only`: calls to files with that in their path; "": all.
    void fail(std::int64_t ns, std::string only = "") {
        failsUntilNs_ = world_.nowNs() + ns;
        failsOnly_ = std::move(only);
    }
    /// One call fails after `after` successful ones.
    void failOnce(std::int64_t after) { callsToFailure_ = after; }
    /// The call that was to fail never comes.
    void failNone() { callsToFailure_ = -1; }
    void cutPower();
    bool isWell() const { return world_.nowNs() >= std::max(fullUntilNs_, failsUntilNs_); }

    /// While it lives, the process whose objects are destroyed is dead: its calls change nothing.
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
    /// Null: on none.
    static Disk* of(std::string_view path);
    /// The error that this call is to have; 0: none.
    int refusal(Call call, const std::string& path);
    std::shared_ptr<DiskFile> opened(const std::string& path, bool isNew);
    void closed(const std::shared_ptr<DiskFile>& file);
    /// A change of names.
    struct Change {
        enum class Kind { kMade, kMadeDirectory, kMoved, kRemoved, kRemovedDirectory };
        Kind kind = Kind::kMade;
        std::string path, from;
        std::string grave;  ///< a link to the file that was removed or replaced; "": none was
    };
    /// Keeps a file that is about to be removed or replaced: its grave.
    std::string bury(const std::string& path);
    void changed(Change change);
    /// A folder was synced.
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
    std::vector<Change> changes_;                              ///< of names, not synced
    std::map<std::uint64_t, std::int64_t> numbers_;            ///< of files, by inode
    std::map<std::int64_t, std::shared_ptr<DiskFile>> files_;  ///< in the order of their first use
};

}  // namespace millrace::sim
