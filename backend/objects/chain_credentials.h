#pragma once
// Credentials as every S3 tool finds them: AWS_ACCESS_KEY_ID, AWS_PROFILE, ~/.aws, roles of the
// machine; the AWS SDK's chain of providers, which renews those that expire.
//
// The chain keeps for minutes what it read from a file. Where the store refuses that, a new chain
// reads it again; whoever else is refused meanwhile waits for that one. Threads: any; the chain may
// ask the network. Failure: a chain that finds none gives empty ones.
#include <memory>

#include "backend/core/mutex.h"
#include "backend/objects/credentials.h"

namespace arrow::fs {
struct S3Options;
}

namespace millrace::objects {

class ChainCredentials final : public CredentialsSource {
 public:
    /// After startArrowS3(). Nothing is looked for before it is asked for.
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
