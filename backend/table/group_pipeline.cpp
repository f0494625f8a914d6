#include "backend/table/group_pipeline.h"

#include <utility>

#include "backend/core/thread.h"

namespace millrace::table {

GroupPipeline::GroupPipeline(TableEncoder& encoder, const Options& options, Taker take)
    : encoder_(encoder), options_(options), take_(std::move(take)) {}

GroupPipeline::~GroupPipeline() {
    for (std::jthread& encoder : encoders_) {
        encoder.request_stop();
    }
    MutexLock lock(mutex_);
    changed_.notifyAll();
}

bool GroupPipeline::isFullLocked(std::int64_t bytes) const {
    const bool areMany =
        !options_.isShared && jobs_.size() > static_cast<std::size_t>(options_.threads);
    return !jobs_.empty() && (areMany || bytes_ + bytes > options_.bytesMost);
}

Status GroupPipeline::add(std::vector<BatchPtr> batches, std::int64_t bytes) {
    if (options_.threads <= 1 || bytes > options_.bytesMost / 2) {
        return addAlone(batches);
    }
    while (!options_.isShared && encoders_.size() < static_cast<std::size_t>(options_.threads)) {
        encoders_.push_back(startThread(strCat("encode-", encoders_.size()),
                                        [this](const std::stop_token& stop) { encode(stop); }));
    }
    auto job = std::make_unique<Job>();
    job->group = {rowsOf(batches), std::vector<EncodedPart>(encoder_.numParts())};
    job->batches = std::move(batches);
    job->bytes = bytes;
    MutexLock lock(mutex_);
    while (!options_.isShared && takeUnlocked()) {
    }
    while (isFullLocked(bytes)) {
        goOnUnlocked();
    }
    RETURN_IF_ERROR(status_);
    jobs_.push_back(std::move(job));
    bytes_ += bytes;
    changedLocked();
    return okStatus();
}

Status GroupPipeline::addAlone(const std::vector<BatchPtr>& batches) {
    RETURN_IF_ERROR(finish());
    bool isNew = false;
    {
        MutexLock lock(mutex_);
        isNew = std::exchange(table_, Table::kPrepared) == Table::kNew;
    }
    if (isNew) {
        RETURN_IF_ERROR(encoder_.prepare(batches));
    }
    ASSIGN_OR_RETURN(const EncodedGroup group, encodeGroup(encoder_, batches, options_.threads));
    return take_(group);
}

// With own encoders, these finish all groups: memory for them is already reserved.
Status GroupPipeline::finish() {
    MutexLock lock(mutex_);
    while (!jobs_.empty() || isTaking_) {
        goOnUnlocked();
    }
    return status_;
}

bool GroupPipeline::doPiece() {
    MutexLock lock(mutex_);
    return takeUnlocked() || encodeUnlocked();
}

/// Does one piece of the owner's work, or waits until there may be one.
void GroupPipeline::goOnUnlocked() {
    if (!takeUnlocked() && !(options_.isShared && encodeUnlocked())) {
        changed_.wait(mutex_);
    }
}

bool GroupPipeline::canTakeLocked() const {
    return !isTaking_ && !jobs_.empty() &&
           jobs_.front()->ended == jobs_.front()->group.parts.size();
}

/// Delivers the first group if it is complete.
bool GroupPipeline::takeUnlocked() {
    if (!canTakeLocked()) {
        return false;
    }
    const std::unique_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    bytes_ -= job->bytes;
    if (status_.ok()) {
        status_ = job->status;
    }
    if (status_.ok()) {
        isTaking_ = true;
        isOpen_ = isOpenLocked();
        mutex_.unlock();
        Status status = take_(job->group);
        mutex_.lock();
        isTaking_ = false;
        status_ = std::move(status);
    }
    changedLocked();
    return true;
}

bool GroupPipeline::isOpenLocked() const {
    return canTakeLocked() || nextLocked() != nullptr;
}

void GroupPipeline::changedLocked() {
    isOpen_ = isOpenLocked();
    changed_.notifyAll();
}

/// The earliest group with a part that no thread has begun.
GroupPipeline::Job* GroupPipeline::nextLocked() const {
    if (table_ == Table::kBeingPrepared) {
        return nullptr;
    }
    for (const std::unique_ptr<Job>& job : jobs_) {
        if (job->begun < job->group.parts.size()) {
            return job.get();
        }
    }
    return nullptr;
}

void GroupPipeline::encode(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
        if (!encodeUnlocked()) {
            changed_.wait(mutex_);
        }
    }
}

/// Encodes a part, or prepares the encoder from the first group.
bool GroupPipeline::encodeUnlocked() {
    Job* const job = nextLocked();
    if (job == nullptr) {
        return false;
    }
    if (table_ == Table::kNew) {
        prepareUnlocked(*job);
    } else {
        encodePartUnlocked(*job);
    }
    return true;
}

// Called with the lock held, which it releases meanwhile.
void GroupPipeline::prepareUnlocked(Job& first) {
    table_ = Table::kBeingPrepared;
    isOpen_ = isOpenLocked();
    mutex_.unlock();
    Status status = encoder_.prepare(first.batches);
    mutex_.lock();
    table_ = Table::kPrepared;
    if (!status.ok()) {
        first.status = std::move(status);
        first.begun = first.ended = first.group.parts.size();
    }
    changedLocked();
}

// Called with the lock held, which it releases meanwhile.
void GroupPipeline::encodePartUnlocked(Job& job) {
    const std::size_t part = job.begun++;
    isOpen_ = isOpenLocked();
    mutex_.unlock();
    Result<EncodedPart> encoded = encoder_.encode(job.batches, part);
    mutex_.lock();
    if (encoded.ok()) {
        job.group.parts[part] = *std::move(encoded);
    } else if (job.status.ok()) {
        job.status = encoded.status();
    }
    if (++job.ended == job.group.parts.size()) {
        job.batches.clear();
        changedLocked();
    }
}

}  // namespace millrace::table
