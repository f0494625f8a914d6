#include "backend/objects/chain_credentials.h"

#include <utility>

#include <arrow/filesystem/s3fs.h>

namespace millrace::objects {

ChainCredentials::~ChainCredentials() = default;

// An empty chain would ask the network each time: replaces it by anonymous credentials.
ChainCredentials::Chain ChainCredentials::newChain() {
    auto options = std::make_shared<arrow::fs::S3Options>(arrow::fs::S3Options::Defaults());
    if (options->GetAccessKey().empty()) {
        options->ConfigureAnonymousCredentials();
    }
    return options;
}

Credentials ChainCredentials::ask(const arrow::fs::S3Options& chain) {
    for (;;) {
        Credentials now{chain.GetAccessKey(), chain.GetSecretKey(), chain.GetSessionToken()};
        // Retries if a renewal happened in between: key and secret must belong together.
        if (chain.GetAccessKey() == now.accessKey) {
            return now;
        }
    }
}

Credentials ChainCredentials::current() {
    Chain chain;
    {
        MutexLock lock(mutex_);
        chain = chain_;
    }
    if (chain == nullptr) {
        chain = newChain();
        MutexLock lock(mutex_);
        chain = chain_ = chain_ == nullptr ? std::move(chain) : chain_;
    }
    return ask(*chain);
}

std::optional<Credentials> ChainCredentials::after(const Credentials& refused,
                                                   const std::stop_token&) {
    bool renews = !refused.isEmpty();
    {
        MutexLock lock(mutex_);
        while (isRenewing_) {
            renews = false;
            changed_.wait(mutex_);
        }
        isRenewing_ = renews;
    }
    Credentials now = current();
    if (renews) {
        Chain chain;
        if (now == refused) {
            chain = newChain();
            now = ask(*chain);
        }
        MutexLock lock(mutex_);
        if (chain != nullptr) {
            chain_ = std::move(chain);
        }
        isRenewing_ = false;
        changed_.notifyAll();
    }
    return now == refused ? std::nullopt : std::optional(std::move(now));
}

}  // namespace millrace::objects
