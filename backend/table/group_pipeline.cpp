#include "backend/table/group_pipeline.h"

#include <utility>

#include "backend/core/text.h"
#include "backend/core/thread.h"

namespace millrace::table {

GroupPipeline::GroupPipeline(TableEncoder& encoder, int threads, std::int64_t bytesMost, Taker take)
    : encoder_(encoder), threads_(threads), bytesMost_(bytesMost), take_(std::move(take)) {}

GroupPipeline::~GroupPipeline() {
    for (std::jthread& encoder : encoders_) {
        encoder.request_stop();
    }
    MutexLock lock(mutex_);
    changed_.notifyAll();
}

bool GroupPipeline::isFull(std::int64_t bytes) const {
    MutexLock lock(mutex_);
    return !jobs_.empty() &&
           (jobs_.size() > static_cast<std::size_t>(threads_) || bytes_ + bytes > bytesMost_);
}

Status GroupPipeline::add(std::vector<BatchPtr> batches, std::int64_t bytes) {
    if (threads_ <= 1 || bytes > bytesMost_ / 2) {
        return addAlone(batches);
    }
    for (bool isTaken = true; isTaken;) {
        RETURN_IF_ERROR(takeFirst(isFull(bytes), isTaken));
    }
    while (encoders_.size() < static_cast<std::size_t>(threads_)) {
        encoders_.push_back(startThread(strCat("encode-", encoders_.size()),
                                        [this](const std::stop_token& stop) { encode(stop); }));
    }
    auto job = std::make_unique<Job>();
    job->group = {rowsOf(batches), std::vector<EncodedPart>(encoder_.numParts())};
    job->batches = std::move(batches);
    job->bytes = bytes;
    MutexLock lock(mutex_);
    jobs_.push_back(std::move(job));
    bytes_ += bytes;
    changed_.notifyAll();
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
    ASSIGN_OR_RETURN(const EncodedGroup group, encodeGroup(encoder_, batches, threads_));
    return take_(group);
}

// The encoders do all of it: they have the memory for it already.
Status GroupPipeline::finish() {
    for (bool isTaken = true; isTaken;) {
        RETURN_IF_ERROR(takeFirst(true, isTaken));
    }
    return okStatus();
}

Status GroupPipeline::takeFirst(bool isWaiting, bool& isTaken) {
    std::unique_ptr<Job> job;
    {
        MutexLock lock(mutex_);
        while (isWaiting && !jobs_.empty() && !isDone(*jobs_.front())) {
            changed_.wait(mutex_);
        }
        isTaken = !jobs_.empty() && isDone(*jobs_.front());
        if (!isTaken) {
            return okStatus();
        }
        job = std::move(jobs_.front());
        jobs_.pop_front();
        bytes_ -= job->bytes;
    }
    RETURN_IF_ERROR(job->status);
    return take_(job->group);
}

/// The earliest group that has a part for one more thread.
GroupPipeline::Job* GroupPipeline::nextLocked() {
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
    mutex_.lock();
    while (!stop.stop_requested()) {
        Job* const job = nextLocked();
        if (job == nullptr) {
            changed_.wait(mutex_);
        } else if (table_ == Table::kNew) {
            prepareUnlocked(*job);
        } else {
            encodeUnlocked(*job);
        }
    }
    mutex_.unlock();
}

// Called, and returns, under the lock.
void GroupPipeline::prepareUnlocked(Job& first) {
    table_ = Table::kBeingPrepared;
    mutex_.unlock();
    Status status = encoder_.prepare(first.batches);
    mutex_.lock();
    table_ = Table::kPrepared;
    if (!status.ok()) {
        first.status = std::move(status);
        first.begun = first.ended = first.group.parts.size();
    }
    changed_.notifyAll();
}

// Likewise.
void GroupPipeline::encodeUnlocked(Job& job) {
    const std::size_t part = job.begun++;
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
        changed_.notifyAll();
    }
}

}  // namespace millrace::table
