#pragma once
// Credentials that another process hands to this one, and hands anew when they change: those of the
// feed, at a data worker.
//
// When the store refuses them there is a question(), which whoever has the connection puts to the
// other process; the reader waits until hand() brings others or the same again. Threads: any.
// Failure: no answer in time counts as the same again.
#include <chrono>
#include <cstdint>
#include <memory>

#include "backend/core/mutex.h"
#include "backend/objects/credentials.h"

namespace millrace::objects {

class HandedCredentials final : public CredentialsSource {
 public:
    static constexpr std::chrono::milliseconds kPatience{15'000};

    /// `own`: asked as long as what is handed is empty.
    explicit HandedCredentials(std::shared_ptr<CredentialsSource> own,
                               std::chrono::milliseconds patience = kPatience)
        : own_(std::move(own)), patience_(patience) {}

    void hand(Credentials credentials);
    /// The access key that was refused, as long as somebody waits for others.
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
