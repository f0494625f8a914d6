#include "backend/objects/s3_signature.h"

#include <array>
#include <cctype>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "backend/core/status.h"

namespace millrace::objects {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
/// SHA-256 of no bytes, as a GET has no body.
constexpr std::string_view kEmptyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

using Digest = std::array<unsigned char, 32>;

std::string_view textOf(const Digest& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string hexOf(const Digest& digest) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (const unsigned char byte : digest) {
        hex += kDigits[byte >> 4];
        hex += kDigits[byte & 15];
    }
    return hex;
}

Digest sha256(std::string_view text) {
    Digest digest{};
    EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
    return digest;
}

Digest hmac(std::string_view key, std::string_view text) {
    Digest digest{};
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), nullptr);
    return digest;
}

}  // namespace

std::string encodedPath(std::string_view path) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        const bool isAscii = byte < 128;
        if ((isAscii && std::isalnum(byte) != 0) ||
            std::string_view("-._~/").find(c) != std::string_view::npos) {
            encoded += c;
        } else {
            encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
        }
    }
    return encoded;
}

std::vector<std::string> signedHeaders(const GetRequest& request, const Credentials& credentials,
                                       std::string_view region, std::string_view utcTime) {
    std::vector<std::string> headers = {strCat("Host: ", request.host),
                                        strCat("Range: ", request.range)};
    if (!request.ifMatch.empty()) {
        headers.push_back(strCat("If-Match: ", request.ifMatch));
    }
    if (request.wantsChecksum) {
        headers.emplace_back("x-amz-checksum-mode: ENABLED");
    }
    if (credentials.accessKey.empty()) {
        return headers;
    }
    // Sorted by header name.
    const std::string_view match = request.ifMatch;
    const bool hasMatch = !match.empty();
    std::string names = strCat("host;", hasMatch ? "if-match;" : "", "range;",
                               request.wantsChecksum ? "x-amz-checksum-mode;" : "",
                               "x-amz-content-sha256;x-amz-date");
    std::string canonical = strCat(
        "GET\n", request.path, "\n\nhost:", request.host, hasMatch ? "\nif-match:" : "", match,
        "\nrange:", request.range, request.wantsChecksum ? "\nx-amz-checksum-mode:ENABLED" : "",
        "\nx-amz-content-sha256:", kEmptyHash, "\nx-amz-date:", utcTime, "\n");
    headers.push_back(strCat("x-amz-content-sha256: ", kEmptyHash));
    headers.push_back(strCat("x-amz-date: ", utcTime));
    if (!credentials.sessionToken.empty()) {
        names += ";x-amz-security-token";
        canonical += strCat("x-amz-security-token:", credentials.sessionToken, "\n");
        headers.push_back(strCat("x-amz-security-token: ", credentials.sessionToken));
    }
    canonical += strCat("\n", names, "\n", kEmptyHash);

    const std::string_view day = utcTime.substr(0, 8);
    const std::string scope = strCat(day, "/", region, "/s3/aws4_request");
    Digest key = hmac(strCat("AWS4", credentials.secretKey), day);
    for (const std::string_view part :
         {region, std::string_view("s3"), std::string_view("aws4_request")}) {
        key = hmac(textOf(key), part);
    }
    const Digest signature = hmac(textOf(key), strCat(kAlgorithm, "\n", utcTime, "\n", scope, "\n",
                                                      hexOf(sha256(canonical))));
    headers.push_back(strCat("Authorization: ", kAlgorithm, " Credential=", credentials.accessKey,
                             "/", scope, ",SignedHeaders=", names,
                             ",Signature=", hexOf(signature)));
    return headers;
}

}  // namespace millrace::objects
