#pragma once
// A certificate that its members pin: self-signed, made for one attempt of a run and gone with it.
//
// There is no authority and nothing is renewed: whoever holds certificate and key is a member, and
// takes for a member whoever shows the same certificate. It is valid at any time that a clock can
// say, since clocks of machines differ and it ends with the attempt. Threads: any. Failure:
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

}  // namespace millrace::certificate
