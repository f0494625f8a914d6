#include "daemon/worker/data/slab_channel.h"

#include <cstring>
#include <utility>
#include <vector>

#include <poll.h>

#include "backend/system/unix_socket.h"

namespace millrace::data {
namespace {

// A peer that is stopped in the middle of a message must not delay others for longer.
constexpr std::chrono::milliseconds kWordTime{500};
constexpr std::chrono::milliseconds kAcceptTime{5'000};
constexpr std::size_t kSessionBytesMost = 64;
constexpr std::string_view kAccepted = "1";

struct Record {
    std::uint32_t id = 0;
    std::uint32_t reserved = 0;
    std::uint64_t bytes = 0;
};
static_assert(sizeof(Record) == 16);

bool isReadable(int fd, std::chrono::milliseconds time) {
    pollfd one{fd, POLLIN, 0};
    return ::poll(&one, 1, static_cast<int>(time.count())) == 1;
}

/// Returns "" after that time or at the end.
std::string receiveWord(int fd, std::chrono::milliseconds time) {
    if (!isReadable(fd, time)) {
        return "";
    }
    std::vector<UniqueFd> none;
    return receiveWithFds(fd, kSessionBytesMost, none).value_or("");
}

}  // namespace

std::string slabSocket(const std::string& unixPath) {
    return unixPath + ".slabs";
}

Result<std::unique_ptr<SlabSender>> SlabSender::connect(const std::string& unixPath,
                                                        const std::string& session) {
    ASSIGN_OR_RETURN(UniqueFd fd, connectOwnUnix(slabSocket(unixPath)));
    RETURN_IF_ERROR(sendWithFds(fd.get(), session, {}));
    if (receiveWord(fd.get(), kAcceptTime) != kAccepted) {
        return unavailable(slabSocket(unixPath), ": the feed does not answer");
    }
    return std::unique_ptr<SlabSender>(new SlabSender(std::move(fd)));
}

Status SlabSender::show(const segment::FrameSlab& slab) {
    const Record record{slab.id(), 0, slab.size()};
    MutexLock lock(mutex_);
    return sendWithFds(fd_.get(), {reinterpret_cast<const char*>(&record), sizeof record},
                       {slab.memory().fd()});
}

std::string SlabReader::sessionOf(int fd) {
    return receiveWord(fd, kWordTime);
}

Status SlabReader::accept() {
    return sendWithFds(fd_.get(), kAccepted, {});
}

Result<std::shared_ptr<const segment::FrameSlab>> SlabReader::find(std::uint32_t id) {
    for (;;) {
        const auto slab = slabs_.find(id);
        if (slab != slabs_.end()) {
            return slab->second;
        }
        ASSIGN_OR_RETURN(const bool hasCome, readNext());
        if (!hasCome) {
            return dataLoss("a frame is in slab ", id, ", which did not come");
        }
    }
}

// The record was sent before its frames were named, so it has arrived.
Result<bool> SlabReader::readNext() {
    if (!isReadable(fd_.get(), std::chrono::milliseconds(0))) {
        return false;
    }
    std::vector<UniqueFd> fds;
    ASSIGN_OR_RETURN(const std::string bytes, receiveWithFds(fd_.get(), sizeof(Record), fds));
    Record record;
    if (bytes.size() != sizeof record || fds.size() != 1) {
        return false;
    }
    std::memcpy(&record, bytes.data(), sizeof record);
    ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::open(std::move(fds[0]), record.bytes));
    slabs_[record.id] = std::make_shared<const segment::FrameSlab>(std::move(memory), record.id);
    return true;
}

}  // namespace millrace::data
