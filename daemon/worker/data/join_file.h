#pragma once
// The join file: what a data worker must know to join a stream, and what lets it in.
//
// The feed that leads the stream writes it, readable by its owner alone, and removes it at its end.
// Whoever can read it is a member of the attempt. Threads: a value. Failure: an error names the
// file; one that others can read is refused.
#include <cstdint>
#include <string>

#include "backend/certificate/certificate.h"
#include "backend/core/status.h"

namespace millrace::data {

struct JoinFile {
    static constexpr int kVersion = 1;
    static constexpr std::size_t kTokenBytes = 32;

    std::string address;  ///< "unix:PATH" or "HOST:PORT"
    std::string token;    ///< kTokenBytes of random bytes
    std::int64_t attempt = 0;
    /// Of a HOST:PORT; both sides show it.
    certificate::Certificate certificate;

    bool isUnix() const { return address.starts_with(kUnix); }
    std::string unixPath() const { return address.substr(kUnix.size()); }

    Status write(const std::string& path) const;
    static Result<JoinFile> read(const std::string& path);

    static constexpr std::string_view kUnix = "unix:";
};

/// Whether two tokens are the same, in a time that does not tell where they differ.
bool isSameToken(std::string_view a, std::string_view b);

}  // namespace millrace::data
