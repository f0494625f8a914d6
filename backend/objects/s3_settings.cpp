#include "backend/objects/s3_settings.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "backend/filesystem/files.h"

namespace millrace::objects {
namespace {

constexpr std::int64_t kFirstDelayMs = 200, kLongestDelayMs = 5000;
constexpr int kMostAttempts = 100;
constexpr double kLongestStallSeconds = 3600;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// The value of the first variable that is set.
std::string environment(std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (std::string value = environment(name); !value.empty()) {
            return value;
        }
    }
    return "";
}

std::string_view trim(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
    return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

/// The keys of the selected profile in ~/.aws/config; empty if the file does not exist.
std::map<std::string, std::string> profileKeys() {
    std::string path = environment("AWS_CONFIG_FILE");
    path = path.empty() ? environment("HOME") + "/.aws/config" : path;
    std::string profile = environment({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
    const std::string section =
        profile.empty() || profile == "default" ? "[default]" : strCat("[profile ", profile, "]");
    std::map<std::string, std::string> keys;
    const Result<std::string> text = readFile(path);
    bool isHere = false;
    for (std::string_view rest = text.ok() ? std::string_view(*text) : ""; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = trim(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const std::size_t equals = line.find('=');
        if (line.starts_with("[")) {
            isHere = line == section;
        } else if (isHere && equals != std::string_view::npos) {
            keys.emplace(trim(line.substr(0, equals)), trim(line.substr(equals + 1)));
        }
    }
    return keys;
}

/// Trusted certificates: the library in the wheel does not know where this system stores them.
std::string certificates() {
    std::string given = environment({"AWS_CA_BUNDLE", "SSL_CERT_FILE"});
    if (!given.empty()) {
        return given;
    }
    for (const char* path :
         {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"}) {
        if (std::filesystem::exists(path)) {
            return path;
        }
    }
    return "";
}

/// Accepts values from a thousandth of a second on, so that tests need not wait.
Result<std::chrono::milliseconds> stallLimit(const std::string& text) {
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (*end != '\0' || !(seconds >= 0.001 && seconds <= kLongestStallSeconds)) {
        return invalidArgument(kStallVariable, "='", text, "': give a number of seconds up to ",
                               static_cast<int>(kLongestStallSeconds), ", as in ", kStallVariable,
                               "=30");
    }
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace

Result<S3Settings> s3SettingsFromEnvironment() {
    const std::map<std::string, std::string> profile = profileKeys();
    const auto orProfile = [&profile](std::string value, const char* key) {
        const auto it = profile.find(key);
        return !value.empty() || it == profile.end() ? value : it->second;
    };
    S3Settings settings;
    settings.region = orProfile(environment({"AWS_REGION", "AWS_DEFAULT_REGION"}), "region");
    settings.endpoint =
        orProfile(environment({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}), "endpoint_url");
    if (!settings.endpoint.empty()) {
        const std::size_t scheme = settings.endpoint.find("://");
        if (scheme != std::string::npos) {
            settings.scheme = settings.endpoint.substr(0, scheme);
            settings.endpoint.erase(0, scheme + 3);
        }
        while (settings.endpoint.ends_with('/')) {
            settings.endpoint.pop_back();
        }
        settings.region = settings.region.empty() ? "us-east-1" : settings.region;
    }
    settings.certificates = certificates();
    if (const int given = std::atoi(environment("AWS_MAX_ATTEMPTS").c_str()); given > 0) {
        settings.attempts = std::min(given, kMostAttempts);
    }
    const std::string checksums =
        orProfile(environment("AWS_RESPONSE_CHECKSUM_VALIDATION"), "response_checksum_validation");
    settings.wantsChecksums = checksums != "when_required" && checksums != "WHEN_REQUIRED";
    if (const std::string given = environment(kStallVariable); !given.empty()) {
        ASSIGN_OR_RETURN(settings.stall, stallLimit(given));
    }
    return settings;
}

std::chrono::milliseconds backOff(std::int64_t failures) {
    return std::chrono::milliseconds(
        std::min(kLongestDelayMs, kFirstDelayMs << std::min<std::int64_t>(failures, 10)));
}

}  // namespace millrace::objects
