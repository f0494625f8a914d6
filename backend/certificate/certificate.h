#pragma once
// A self-signed certificate that clients pin, and the hash under which tokens are stored.
//
// There is no authority and nothing is renewed: the listener alone has the key, and a client takes
// for the listener whoever proves to have it. It is valid at any time that a clock can say, since
// clocks of machines differ. Threads: any. Failure: kInternal with OpenSSL's own words.
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
