#include "backend/table/group_pipeline.h"

#include <utility>

#include "backend/core/text.h"
#include "backend/core/thread.h"

namespace millrace::table {

GroupPipeline::GroupPipeline(const TableEncoder& encoder, int threads, std::int64_t bytesMost,
                             Taker take)
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
        RETURN_IF_ERROR(finish());
        ASSIGN_OR_RETURN(const EncodedGroup group, encoder_.encode(std::move(batches), threads_));
        return take_(group);
    }
    for (bool isTaken = true; isTaken;) {
        RETURN_IF_ERROR(takeFirst(isFull(bytes), isTaken));
    }
    while (encoders_.size() < static_cast<std::size_t>(threads_)) {
        encoders_.push_back(startThread(strCat("encode-", encoders_.size()),
                                        [this](const std::stop_token& stop) { encode(stop); }));
    }
    auto job = std::make_unique<Job>();
    job->batches = std::move(batches);
    job->bytes = bytes;
    MutexLock lock(mutex_);
    jobs_.push_back(std::move(job));
    bytes_ += bytes;
    changed_.notifyAll();
    return okStatus();
}

// Nothing is given meanwhile: the groups that wait are encoded by the owner, their columns by
// several threads, so that all are done at about the same time.
Status GroupPipeline::finish() {
    mutex_.lock();
    while (Job* const job = nextLocked()) {
        encodeUnlocked(*job, threads_);
    }
    mutex_.unlock();
    for (bool isTaken = true; isTaken;) {
        RETURN_IF_ERROR(takeFirst(true, isTaken));
    }
    return okStatus();
}

Status GroupPipeline::takeFirst(bool isWaiting, bool& isTaken) {
    std::unique_ptr<Job> job;
    {
        MutexLock lock(mutex_);
        while (isWaiting && !jobs_.empty() && !jobs_.front()->group) {
            changed_.wait(mutex_);
        }
        isTaken = !jobs_.empty() && jobs_.front()->group.has_value();
        if (!isTaken) {
            return okStatus();
        }
        job = std::move(jobs_.front());
        jobs_.pop_front();
        bytes_ -= job->bytes;
    }
    RETURN_IF_ERROR(job->group->status());
    return take_(**job->group);
}

GroupPipeline::Job* GroupPipeline::nextLocked() {
    for (const std::unique_ptr<Job>& job : jobs_) {
        if (!std::exchange(job->isBegun, true)) {
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
            continue;
        }
        encodeUnlocked(*job, 1);
    }
    mutex_.unlock();
}

// Called, and returns, under the lock.
void GroupPipeline::encodeUnlocked(Job& job, int threads) {
    std::vector<BatchPtr> batches = std::move(job.batches);
    mutex_.unlock();
    Result<EncodedGroup> group = encoder_.encode(std::move(batches), threads);
    mutex_.lock();
    job.group = std::move(group);
    changed_.notifyAll();
}

}  // namespace millrace::table
