#include "daemon/worker/loader/feed/producer.h"

#include "backend/core/thread.h"

namespace millrace::loader {

void Producer::Request::shareWithElsewhere(std::int64_t limitBytes) {
    constexpr std::int64_t kSegmentsAhead = 256;
    constexpr std::int64_t kFramesShare = 4;
    sequencer.hasDeliveryThread = true;
    sequencer.elsewhere = {kSegmentsAhead, limitBytes / kFramesShare};
    sequencer.limitBytes = limitBytes - limitBytes / kFramesShare;
}

Result<std::unique_ptr<Producer>> Producer::start(Request request, segment::BufferPool& pool,
                                                  segment::StageCounters& counters, OnEnd onEnd) {
    std::unique_ptr<Producer> producer(new Producer(request.dealing.ledger));
    request.sequencer.readersFetch = request.dealing.ledger != nullptr;
    if (!request.ranks.empty()) {
        producer->deliverTo(std::move(request.ranks), request.dealing);
    }
    ASSIGN_OR_RETURN(producer->sequencer_,
                     segment::Sequencer::make(std::move(request.input), request.sequencer, pool,
                                              counters, producer->sink_));
    producer->thread_ = startThread(
        "producer", [self = producer.get(), onEnd = std::move(onEnd)](std::stop_token stop) {
            const Status status = self->sequencer_->run(std::move(stop));
            onEnd(status,
                  status.code() == absl::StatusCode::kUnavailable && self->sink_.hasLostReader());
        });
    return producer;
}

Producer::~Producer() {
    sink_.abandon();
}

}  // namespace millrace::loader
