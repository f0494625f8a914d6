#pragma once
// Credentials from the usual sources of S3 tools: AWS_ACCESS_KEY_ID, AWS_PROFILE, ~/.aws, roles of
// the machine. Uses the AWS SDK's chain of providers, which renews credentials that expire.
//
// The chain caches what it read from a file for minutes. If the store rejects it, a new chain reads
// the file again; other readers that are rejected meanwhile wait for that chain. Threads: any; the
// chain may use the network. Failure: a chain that finds no credentials returns empty ones.
#include <memory>

#include "backend/core/mutex.h"
#include "backend/objects/credentials.h"

namespace arrow::fs {
struct S3Options;
}

namespace millrace::objects {

class ChainCredentials final : public CredentialsSource {
 public:
    /// Call it after startArrowS3(). Looks for nothing until the first request.
    ChainCredentials() = default;
    ~ChainCredentials() override;

    Credentials current() override;
    std::optional<Credentials> after(const Credentials& refused,
                                     const std::stop_token& stop) override;

 private:
    using Chain = std::shared_ptr<const arrow::fs::S3Options>;
    static Chain newChain();
    static Credentials ask(const arrow::fs::S3Options& chain);

    Mutex mutex_;
    CondVar changed_;
    Chain chain_ MR_GUARDED_BY(mutex_);
    bool isRenewing_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::objects
