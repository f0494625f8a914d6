#pragma once
// PartsFiller: fills slots of a rank's ring with frames that arrive in parts. It fetches the parts
// from the workers that hold them, checks them, and joins them. Used by RelayRing.
//
// Threads: add() by one owner; one of its own ("relay-fill") decodes, in the order of the slots.
// Bounds: the ring's slots. Failure: reported once through onBroken; nothing is filled after it. A
// frame whose rows differ from its reference is kDataLoss and names its worker. The frames of a
// worker that is not connected are awaited (FrameSource).
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/frame/codec.h"
#include "backend/frame/frame.h"
#include "backend/ring/frame_parts.h"
#include "backend/ring/ring_writer.h"
#include "daemon/worker/relay/frame_fetch.h"

namespace millrace::relay {

class PartsFiller {
 public:
    struct Handlers {
        /// `frames`: fetched and written since the start.
        std::function<void(std::uint64_t frames)> onWritten;
        /// A frame is awaited of a worker that is not connected, as FrameSource::Handlers.
        std::function<void(std::uint64_t worker, std::uint32_t connection)> onLost;
        /// `worker`: whose frame it is; 0: none's.
        std::function<void(const Status& why, std::uint64_t worker)> onBroken;
    };
    /// `source`: null if the relay fetches no frames. Both outlive it.
    PartsFiller(ring::RingWriter& to, FrameSource* source, Handlers handlers);
    ~PartsFiller();

    /// `frame`: one without rows, which has the columns of all. Call before add().
    Status setColumns(std::span<const std::byte> frame);
    /// `slot` has at least framesBytes() of the parts. `payload` keeps the inline frames.
    Status add(const ring::FrameSlot& slot, const ring::FrameNumbers& numbers,
               std::vector<ring::RingPart> parts, frame::FrameBuffer payload);
    static std::uint64_t framesBytes(std::span<const ring::RingPart> parts);

 private:
    struct Filling {
        ring::FrameSlot slot;
        ring::FrameNumbers numbers;
        std::vector<ring::RingPart> parts;
        frame::FrameBuffer payload;
        std::vector<std::shared_ptr<FrameFetch>> fetches;  ///< by part; null: inline
    };
    void run(const std::stop_token& stop);
    Status fill(Filling& filling, const std::stop_token& stop);
    /// Returns the checked frame. It is in `slot`; if that is empty, in the coded bytes if none of
    /// its columns is coded, else in `scratch`.
    Result<frame::FrameView> decode(const stream::FramePart& part, std::span<const std::byte> coded,
                                    std::span<std::byte> slot, frame::FrameBuffer& scratch);
    void tellLost();
    Result<segment::CodedFrame> await(FrameFetch& fetch, const std::stop_token& stop);

    ring::RingWriter& to_;
    FrameSource* const source_;
    const Handlers handlers_;
    std::optional<frame::FrameLayout> layout_;
    frame::FrameDecoder decoder_;
    /// For parts of a step, by part; kept, because fresh pages cost more than decoding.
    std::vector<frame::FrameBuffer> scratch_;
    std::uint64_t numWritten_ = 0;
    std::uint64_t worker_ = 0;  ///< of the part that is being read
    /// The thread's queue. Fetches share it, because their callbacks may outlast the filler.
    struct Inbox {
        Mutex mutex;
        CondVar changed;
        std::deque<Filling> waiting MR_GUARDED_BY(mutex);
        bool hasNews MR_GUARDED_BY(mutex) = false;
        std::map<std::uint64_t, std::uint32_t> lost MR_GUARDED_BY(mutex);  ///< connection by worker
        void tell() {
            MutexLock lock(mutex);
            hasNews = true;
            changed.notifyAll();
        }
    };
    const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
    std::jthread thread_;
};

}  // namespace millrace::relay
