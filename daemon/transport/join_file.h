#pragma once
// The join file: where a listener is, the certificate by which a client knows it, and the token
// that lets the client in.
//
// The listener writes it: the feed that leads a stream for data workers and relays, a head for the
// agents of its nodes. The certificate's key stays with the listener, so that a file lets in and
// lets nobody listen in its place. Threads: a value. Failure: an error names the file; one that
// others can read is refused.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

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
    std::string node = {};     ///< the only node that the token lets in; "": any, or none is meant
    /// For HOST:PORT. Only the listener's copy has the private key.
    certificate::Certificate certificate;

    bool isUnix() const { return address.starts_with(kUnix); }
    std::string unixPath() const { return address.substr(kUnix.size()); }

    /// A new one, with a new token. `listen`: as Address::parseHost(), gets a certificate; "": the
    /// unix socket `unixPath`.
    static Result<JoinFile> make(const std::string& listen, const std::string& unixPath);

    /// What a data worker gets of a feed's: it opens nothing that is for relays.
    JoinFile ofDataWorker() const;

    /// Without the key.
    Status write(const std::string& path) const;
    std::string toText() const;
    /// With the key, for a listener that is started again.
    Status writeForListener(const std::string& path) const;
    static Result<JoinFile> read(const std::string& path);
    /// `place` is named in errors.
    static Result<JoinFile> fromText(std::string_view text, const std::string& place);

    static constexpr std::string_view kUnix = "unix:";
};

/// Whether nobody but `user`, root and members of one of `groups` may read a file, and others of
/// them only read it: it is `user`'s or root's and closed to all others, or it is root's and its
/// group, one of `groups`, may read it, as a Kubernetes Secret's.
bool isPrivate(const struct ::stat& file, uid_t user, const std::vector<gid_t>& groups);

/// Whether two tokens are the same and not empty, in a time that does not tell where they differ.
bool isSameToken(std::string_view a, std::string_view b);

}  // namespace millrace::transport
