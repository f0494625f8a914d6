#pragma once
// AWS Signature Version 4 for reading one object, in headers.
//
// Source: Amazon S3 API Reference, "Authenticating Requests: Using the Authorization Header (AWS
// Signature Version 4)", whose example of a GET is among the tests. Threads: pure functions.
#include <string>
#include <string_view>
#include <vector>

#include "backend/objects/credentials.h"

namespace millrace::objects {

struct GetRequest {
    std::string host;            ///< as the Host header says it, with the port if one is named
    std::string path;            ///< from the first '/', encoded by encodedPath()
    std::string range;           ///< value of the Range header
    std::string ifMatch;         ///< of the If-Match header; empty: none
    bool wantsChecksum = false;  ///< asks for the checksum that the store keeps
};

/// Headers as "Name: value": those of the request and those that sign it. `utcTime`:
/// "20130524T000000Z".
std::vector<std::string> signedHeaders(const GetRequest& request, const Credentials& credentials,
                                       std::string_view region, std::string_view utcTime);

/// Every byte but unreserved ones (RFC 3986, 2.3) and '/' as %XX.
std::string encodedPath(std::string_view path);

}  // namespace millrace::objects
