#pragma once
// Creates a self-signed certificate that clients pin, reads certificates signed by others, and
// makes the hash under which tokens are stored.
//
// Only the listener has the key; a client trusts the peer that proves it has it. Nothing signs or
// renews the certificate. It never expires, since machines' clocks differ. Threads: any.
// Failure: kInternal with OpenSSL's own message, or as documented.
#include <string>
#include <string_view>

#include "backend/core/status.h"

namespace millrace::certificate {

struct Certificate {
    std::string certificatePem, keyPem;
    bool operator==(const Certificate&) const = default;
};

/// A new key (ECDSA on P-256) and its certificate. `name`: the host name for which it is valid.
Result<Certificate> makeCertificate(std::string_view name);

/// Whether `pem` begins with a readable certificate.
bool isCertificate(const std::string& pem);

/// PEM files of one end of TLS, by their paths; they belong to the user of the program.
struct PairFiles {
    std::string certificate, key, authority;
};
struct PairTexts {
    Certificate own;
    std::string authorityPem;
};

/// Reads the files. kInvalidArgument: a file is not a certificate, or not a key without a
/// passphrase, or the key does not match the certificate. kPermissionDenied: the key is this user's
/// and readable by others. The error names the files.
Result<PairTexts> readPair(const PairFiles& files);

/// SHA-256 as 64 lower-case hex digits.
std::string sha256Hex(std::string_view bytes);

}  // namespace millrace::certificate
