#include "daemon/transport/join_file.h"

#include <algorithm>

#include <sys/stat.h>
#include <unistd.h>

#include "backend/core/ids.h"
#include "backend/filesystem/files.h"
#include "backend/filesystem/paths.h"
#include "backend/text/json.h"

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

/// Empty: it is not valid.
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

std::vector<gid_t> ownGroups() {
    std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
    const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
    groups.resize(static_cast<std::size_t>(std::max(0, count)));
    groups.push_back(::getegid());
    return groups;
}

Status checkPrivate(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) {
        return errnoStatus(errno, path);
    }
    if (!isPrivate(info, ::geteuid(), ownGroups())) {
        return permissionDenied(
            path,
            ": others may read it, and it lets into a run; make it yours with mode 0600, or root's "
            "with mode 0440 and a group of yours (fsGroup of a pod)");
    }
    return okStatus();
}

Json jsonOf(const JoinFile& file) {
    Json json = {{"version", JoinFile::kVersion},
                 {"address", file.address},
                 {"token", hexOf(file.token)},
                 {"attempt", file.attempt},
                 {"certificate", file.certificate.certificatePem}};
    if (!file.relayToken.empty()) {
        json["relay_token"] = hexOf(file.relayToken);
    }
    if (!file.node.empty()) {
        json["node"] = file.node;
    }
    return json;
}

std::string textOf(const Json& json) {
    return dumpJsonPretty(json) + "\n";
}

}  // namespace

Result<JoinFile> JoinFile::make(const std::string& listen, const std::string& unixPath) {
    JoinFile file;
    file.token = randomBytes(kTokenBytes);
    if (listen.empty()) {
        file.address = strCat(kUnix, unixPath);
        return file;
    }
    ASSIGN_OR_RETURN(const Address address, Address::parseHost(listen));
    file.address = address.text();
    ASSIGN_OR_RETURN(file.certificate, certificate::makeCertificate(kCertificateName));
    return file;
}

JoinFile JoinFile::ofDataWorker() const {
    JoinFile file = *this;
    file.relayToken.clear();
    return file;
}

std::string JoinFile::toText() const {
    return textOf(jsonOf(*this));
}

Status JoinFile::write(const std::string& path) const {
    return writeFileAtomic(path, toText(), 0600);
}

Status JoinFile::writeForListener(const std::string& path) const {
    Json json = jsonOf(*this);
    json["key"] = certificate.keyPem;
    return writeFileAtomic(path, textOf(json), 0600);
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
    file.node = jsonString(json, "node");
    file.certificate = {jsonString(json, "certificate"), jsonString(json, "key")};
    if (file.address.empty() || file.token.size() != kTokenBytes) {
        return invalidArgument(place, ": a join file has an address and a token of ", kTokenBytes,
                               " bytes");
    }
    if (!file.isUnix() && !certificate::isCertificate(file.certificate.certificatePem)) {
        return invalidArgument(
            place,
            ": its certificate is damaged; copy the join file again, as a whole, "
            "from where it was written");
    }
    return file;
}

bool isPrivate(const struct ::stat& file, uid_t user, const std::vector<gid_t>& groups) {
    const bool isOwn = file.st_uid == user || file.st_uid == 0;
    const mode_t forOthers = file.st_mode & (S_IRWXG | S_IRWXO);
    const bool isSecret = file.st_uid == 0 && forOthers == S_IRGRP &&
                          std::find(groups.begin(), groups.end(), file.st_gid) != groups.end();
    return isOwn && (forOthers == 0 || isSecret);
}

bool isSameToken(std::string_view a, std::string_view b) {
    unsigned difference = a.size() == b.size() && !a.empty() ? 0 : 1;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    }
    return difference == 0;
}

}  // namespace millrace::transport
