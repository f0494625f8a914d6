#include "daemon/worker/data/frame_sender.h"

#include <grpcpp/generic/generic_stub.h>

#include "daemon/transport/raw_buffer.h"
#include "daemon/transport/transport.h"
#include "daemon/worker/data/messages.h"

namespace millrace::data {
namespace {

// One chunk is with the connection, one waits for it.
constexpr std::size_t kChunksAhead = 2;

}  // namespace

FrameSender::FrameSender(FrameOf frameOf, std::function<void()> onClosed,
                         std::function<void()> onOpen)
    : frameOf_(std::move(frameOf)), onOpen_(std::move(onOpen)) {
    stream_ = Stream::make({[this](grpc::ByteBuffer& buffer) {
                                asked(buffer);
                                pump();
                                stream_->readNext();
                            },
                            std::move(onClosed), [this] { pump(); }});
}

FrameSender::~FrameSender() {
    close();
}

void FrameSender::start(const std::shared_ptr<grpc::Channel>& channel, const std::string& session) {
    stream_->context().AddMetadata(kSessionKey, session);
    stream_->start([&channel](grpc::ClientContext* context, auto* reactor) {
        grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(channel);
        stub.PrepareBidiStreamingCall(context, "/millrace.v1.Data/Frames", {}, reactor);
    });
    stream_->readNext();
}

void FrameSender::close() {
    stream_->close();
    stream_->waitDone();
}

void FrameSender::asked(const grpc::ByteBuffer& buffer) {
    v1::FrameRequest request;
    if (!transport::readBuffer(buffer, request)) {
        return;  // not from a feed of this build
    }
    if (request.count() == 0) {
        onOpen_();
        return;
    }
    const auto first = static_cast<std::int64_t>(request.first());
    MutexLock lock(mutex_);
    wanted_.push_back(
        {orderOf(request.name()), first, first + static_cast<std::int64_t>(request.count())});
}

void FrameSender::forget(const stream::SegmentOrder& order) {
    MutexLock lock(mutex_);
    std::erase_if(wanted_, [&order](const Wanted& wanted) { return wanted.order.isSame(order); });
}

void FrameSender::pump() {
    // The lock covers send(), so that chunks are sent in the order in which they were taken.
    MutexLock lock(mutex_);
    while (stream_->numWaiting() < kChunksAhead) {
        std::optional<grpc::ByteBuffer> chunk = nextChunk();
        if (!chunk) {
            return;
        }
        stream_->send(std::move(*chunk));
    }
}

std::optional<grpc::ByteBuffer> FrameSender::nextChunk() {
    while (!wanted_.empty()) {
        Wanted& wanted = wanted_.front();
        if (wanted.next == wanted.end) {
            wanted_.pop_front();
            continue;
        }
        const auto frame = frameOf_(wanted.order, wanted.next);
        if (!frame) {
            return wire::missingChunk(wanted.order, wanted.next++);
        }
        grpc::ByteBuffer chunk = wire::makeChunk(wanted.order, wanted.next, *frame, wanted.offset);
        wanted.offset += wire::kChunkBytesMost;
        if (frame->isShared() || wanted.offset >= frame->bytes.size()) {
            wanted.offset = 0;
            ++wanted.next;
        }
        return chunk;
    }
    return std::nullopt;
}

}  // namespace millrace::data
