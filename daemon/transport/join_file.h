#pragma once
// JoinFile: the address of a listener, the certificate by which a client recognizes it, and the
// token that lets the client in.
//
// The listener writes it: the feed that leads a stream for data workers and relays, a head for the
// agents of its nodes. The certificate's key stays with the listener, so that the file admits a
// client but lets nobody impersonate the listener. Threads: a value. Failure: an error names the
// file; a file that others can read is refused.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include "backend/certificate/certificate.h"
#include "backend/core/status.h"

namespace millrace::transport {

/// The host name in all certificates, and for their check, whatever the address is.
inline constexpr char kCertificateName[] = "millrace";

struct JoinFile {
    static constexpr int kVersion = 1;
    static constexpr std::size_t kTokenBytes = 32;

    std::string address;  ///< "unix:PATH" or "HOST:PORT"
    std::string token;    ///< kTokenBytes of random bytes: of agents, of data workers
    /// Likewise for relays, which act for ranks. "": the file is an agent's or a data worker's.
    std::string relayToken;
    std::int64_t attempt = 0;  ///< of a run; 0: not of a run
    std::string node = {};     ///< the only node that it is valid for; "": any, or none
    /// For HOST:PORT. Only the listener's copy has the private key.
    certificate::Certificate certificate;

    bool isUnix() const { return address.starts_with(kUnix); }
    std::string unixPath() const { return address.substr(kUnix.size()); }

    /// Makes a file with a new token. `listen`: as Address::parseHost(), gets a certificate; "":
    /// the unix socket `unixPath`.
    static Result<JoinFile> make(const std::string& listen, const std::string& unixPath);

    /// The part of a feed's file for a data worker: it gives no access as a relay.
    JoinFile ofDataWorker() const;

    /// Writes it without the key.
    Status write(const std::string& path) const;
    std::string toText() const;
    /// Writes it with the key, for a listener that is restarted.
    Status writeForListener(const std::string& path) const;
    static Result<JoinFile> read(const std::string& path);
    /// `place` is the name in errors.
    static Result<JoinFile> fromText(std::string_view text, const std::string& place);

    static constexpr std::string_view kUnix = "unix:";
};

/// Returns whether only `user`, root and members of one of `groups` can read a file, and these
/// groups cannot write it. That is so if it is `user`'s or root's and closed to all others. It is
/// also so if it is root's and its group, one of `groups`, may read it, as for a Kubernetes Secret.
bool isPrivate(const struct ::stat& file, uid_t user, const std::vector<gid_t>& groups);

/// Returns whether two tokens are equal and not empty, in a time that does not depend on where they
/// differ.
bool isSameToken(std::string_view a, std::string_view b);

}  // namespace millrace::transport
