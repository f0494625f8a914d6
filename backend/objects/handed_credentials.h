#pragma once
// Credentials from another process, which sends new ones when they change: the feed's credentials
// at a data worker.
//
// When the store rejects them, question() returns their key; the thread with the connection
// forwards it to the other process. The reader waits until hand() brings new credentials or the
// same ones again. Threads: any.
// Failure: no answer in time counts as the same ones.
#include <chrono>
#include <cstdint>
#include <memory>

#include "backend/core/mutex.h"
#include "backend/objects/credentials.h"

namespace millrace::objects {

class HandedCredentials final : public CredentialsSource {
 public:
    static constexpr std::chrono::milliseconds kPatience{15'000};

    /// `own`: used as long as the handed credentials are empty.
    explicit HandedCredentials(std::shared_ptr<CredentialsSource> own,
                               std::chrono::milliseconds patience = kPatience)
        : own_(std::move(own)), patience_(patience) {}

    void hand(Credentials credentials);
    /// The access key that was rejected, as long as a reader waits for new credentials.
    std::optional<std::string> question() const;

    Credentials current() override;
    std::optional<Credentials> after(const Credentials& refused,
                                     const std::stop_token& stop) override;

 private:
    const std::shared_ptr<CredentialsSource> own_;
    const std::chrono::milliseconds patience_;
    mutable Mutex mutex_;
    CondVar changed_;
    Credentials handed_ MR_GUARDED_BY(mutex_);
    std::uint64_t numHanded_ MR_GUARDED_BY(mutex_) = 0;
    int numWaiting_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::objects
