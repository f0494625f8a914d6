#pragma once
// The join file: what a member must know to come in, and what lets it in.
//
// Who listens writes it, readable by its owner alone: the feed that leads a stream for its data
// workers, a head for the agents of its nodes. Whoever can read it is a member. Threads: a value.
// Failure: an error names the file; one that others can read is refused.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/certificate/certificate.h"
#include "backend/core/status.h"

namespace millrace::transport {

/// The host name that certificates are made and checked for, whatever the address is.
inline constexpr char kCertificateName[] = "millrace";

struct JoinFile {
    static constexpr int kVersion = 1;
    static constexpr std::size_t kTokenBytes = 32;

    std::string address;  ///< "unix:PATH" or "HOST:PORT"
    std::string token;    ///< kTokenBytes of random bytes: of agents, of data workers
    /// Likewise, of relays, which speak for ranks. "": the file is an agent's or a data worker's.
    std::string relayToken;
    std::int64_t attempt = 0;  ///< of a run; 0: not of a run
    /// Of a HOST:PORT; both sides show it.
    certificate::Certificate certificate;

    bool isUnix() const { return address.starts_with(kUnix); }
    std::string unixPath() const { return address.substr(kUnix.size()); }

    /// A new one, with a new token. `listen`: HOST or HOST:PORT, which gets a certificate; "": the
    /// unix socket `unixPath`.
    static Result<JoinFile> make(const std::string& listen, const std::string& unixPath);

    /// What a data worker gets of a feed's: it opens nothing that is for relays.
    JoinFile ofDataWorker() const;

    Status write(const std::string& path) const;
    std::string toText() const;
    static Result<JoinFile> read(const std::string& path);
    /// `place` is named in errors.
    static Result<JoinFile> fromText(std::string_view text, const std::string& place);

    static constexpr std::string_view kUnix = "unix:";
};

/// Whether two tokens are the same and not empty, in a time that does not tell where they differ.
bool isSameToken(std::string_view a, std::string_view b);

}  // namespace millrace::transport
