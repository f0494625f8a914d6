#pragma once
// A self-signed certificate that clients pin, and the hash under which tokens are stored.
//
// Only the listener holds the key; a client trusts the peer that proves it has it. Nothing signs or
// renews the certificate. It never expires, since machines' clocks differ. Threads: any. Failure:
// kInternal with OpenSSL's own words.
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace::certificate {

struct Certificate {
    std::string certificatePem, keyPem;
    bool operator==(const Certificate&) const = default;
};

/// A new key (ECDSA on P-256) and its certificate. `name`: the host name that it is checked for.
Result<Certificate> makeCertificate(std::string_view name);

/// SHA-256 as 64 lower-case hex digits.
std::string sha256Hex(std::string_view bytes);

}  // namespace millrace::certificate
