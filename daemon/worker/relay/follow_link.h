#pragma once
// FollowLink: a relay's connection to the feed that it follows. It asks for admission, receives the
// stream's description, and later which frames have moved to other workers, and that the stream is
// over or the feed gone. Used by Relay.
//
// Threads: any; callbacks are called on gRPC's. Owns: its call. Failure: end().
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "daemon/transport/duplex.h"
#include "daemon/transport/join_file.h"
#include "millrace/v1/data.grpc.pb.h"

namespace millrace::relay {

/// Pause between two tries to reach a feed that is away.
inline constexpr std::chrono::milliseconds kTryAgain{500};

/// The feed is away, or has not written its join file: worth a retry.
bool isPassing(const Status& status);

/// Describes the relay or ring that asks for admission.
v1::JoinRequest requestOf(const transport::JoinFile& file, const std::string& buildId);

class FollowLink {
 public:
    using OnMoved = std::function<void(const v1::MovedFrames&)>;
    static Result<std::unique_ptr<FollowLink>> open(const transport::JoinFile& file,
                                                    const v1::JoinRequest& request,
                                                    std::function<void()> onChange,
                                                    OnMoved onMoved);
    ~FollowLink();

    void report(const v1::FollowWord& word) { call_->send(word); }
    /// Nothing: it has not arrived yet.
    std::optional<v1::FollowAnswer> answer() const;
    bool isOver() const { return call_->isOver(); }
    /// Once it is over: OK if the feed came to its end.
    Status end() const;

 private:
    using Call = transport::ClientDuplex<v1::FollowAnswer, v1::FollowWord>;
    FollowLink() = default;
    std::shared_ptr<Call> call_;
    mutable Mutex mutex_;
    std::optional<v1::FollowAnswer> answer_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::relay
