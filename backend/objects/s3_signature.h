#pragma once
// AWS Signature Version 4 for reading one object, with headers.
//
// Source: Amazon S3 API Reference, "Authenticating Requests: Using the Authorization Header (AWS
// Signature Version 4)"; the tests include its example of a GET. Threads: pure functions.
#include <string>
#include <string_view>
#include <vector>

#include "backend/objects/credentials.h"

namespace millrace::objects {

struct GetRequest {
    std::string host;            ///< value of the Host header, including a given port
    std::string path;            ///< from the first '/', encoded by encodedPath()
    std::string range;           ///< value of the Range header
    std::string ifMatch;         ///< value of the If-Match header; empty: none
    bool wantsChecksum = false;  ///< requests the checksum that the store keeps
};

/// Headers as "Name: value": those of the request, and those with the signature. `utcTime`:
/// "20130524T000000Z".
std::vector<std::string> signedHeaders(const GetRequest& request, const Credentials& credentials,
                                       std::string_view region, std::string_view utcTime);

/// Encodes every byte as %XX, except '/' and unreserved ones (RFC 3986, 2.3).
std::string encodedPath(std::string_view path);

}  // namespace millrace::objects
