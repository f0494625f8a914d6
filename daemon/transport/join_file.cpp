#include "daemon/transport/join_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/files.h"
#include "backend/core/ids.h"
#include "backend/core/json.h"

namespace millrace::transport {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

std::string hexOf(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        text += kDigits[static_cast<unsigned char>(byte) >> 4];
        text += kDigits[static_cast<unsigned char>(byte) & 15];
    }
    return text;
}

/// Empty: it is none.
std::string bytesOf(std::string_view hex) {
    std::string bytes;
    const std::string_view digits(kDigits, 16);
    for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
        const auto high = digits.find(hex[at]), low = digits.find(hex[at + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) {
            return {};
        }
        bytes += static_cast<char>(high << 4 | low);
    }
    return hex.size() % 2 == 0 ? bytes : std::string();
}

Status checkPrivate(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) {
        return errnoStatus(errno, path);
    }
    const bool isOwn = info.st_uid == ::geteuid() || info.st_uid == 0;
    if (!isOwn || (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return permissionDenied(path,
                                ": others may read it, and it lets into a run; chmod 600, "
                                "and own it");
    }
    return okStatus();
}

}  // namespace

Result<JoinFile> JoinFile::make(const std::string& listen, const std::string& unixPath) {
    JoinFile file;
    file.token = randomBytes(kTokenBytes);
    if (listen.empty()) {
        file.address = strCat(kUnix, unixPath);
        return file;
    }
    file.address = listen.find(':') != std::string::npos ? listen : listen + ":0";
    ASSIGN_OR_RETURN(file.certificate, certificate::makeCertificate(kCertificateName));
    return file;
}

JoinFile JoinFile::ofDataWorker() const {
    JoinFile file = *this;
    file.relayToken.clear();
    return file;
}

std::string JoinFile::toText() const {
    Json json = {{"version", kVersion},
                 {"address", address},
                 {"token", hexOf(token)},
                 {"attempt", attempt},
                 {"certificate", certificate.certificatePem},
                 {"key", certificate.keyPem}};
    if (!relayToken.empty()) {
        json["relay_token"] = hexOf(relayToken);
    }
    return dumpJsonPretty(json) + "\n";
}

Status JoinFile::write(const std::string& path) const {
    return writeFileAtomic(path, toText(), 0600);
}

Result<JoinFile> JoinFile::read(const std::string& path) {
    RETURN_IF_ERROR(checkPrivate(path));
    constexpr std::size_t kMost = 1 << 16;
    ASSIGN_OR_RETURN(const std::string text, readFile(path, kMost));
    return fromText(text, path);
}

Result<JoinFile> JoinFile::fromText(std::string_view text, const std::string& place) {
    ASSIGN_OR_RETURN(const Json json, parseJson(text, place));
    if (jsonInt(json, "version") != kVersion) {
        return invalidArgument(place, ": no join file of version ", kVersion);
    }
    JoinFile file;
    file.address = jsonString(json, "address");
    file.token = bytesOf(jsonString(json, "token"));
    file.relayToken = bytesOf(jsonString(json, "relay_token"));
    file.attempt = jsonInt(json, "attempt");
    file.certificate = {jsonString(json, "certificate"), jsonString(json, "key")};
    if (file.address.empty() || file.token.size() != kTokenBytes) {
        return invalidArgument(place, ": a join file has an address and a token of ", kTokenBytes,
                               " bytes");
    }
    return file;
}

bool isSameToken(std::string_view a, std::string_view b) {
    unsigned difference = a.size() == b.size() && !a.empty() ? 0 : 1;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    }
    return difference == 0;
}

}  // namespace millrace::transport
