#include "app/client/connection_reason.h"

#include <utility>

namespace millrace::client {
namespace {

// Why TLS ends a connection before the daemon has answered.
std::string tlsReasonOf(const std::string& message, bool hasTls) {
    if (message.find("certificate verify failed") != std::string::npos) {
        return "its certificate is not signed by MILLRACE_TLS_CA, or is not of that host";
    }
    if (message.find("wrong version number") != std::string::npos) {
        return "it does not speak TLS; unset MILLRACE_TLS_CA, MILLRACE_TLS_CERT and "
               "MILLRACE_TLS_KEY";
    }
    return hasTls ? "it does not take this client's certificate: MILLRACE_TLS_CERT must be signed "
                    "by the daemon's --tls-ca"
                  : "it closed the connection; a daemon with TLS wants MILLRACE_TLS_CA, "
                    "MILLRACE_TLS_CERT and MILLRACE_TLS_KEY";
}

}  // namespace

std::string reasonOf(const std::string& message, bool hasTls) {
    static constexpr std::pair<const char*, const char*> kReasons[] = {
        {"Connection refused", "nobody listens there"},
        {"DNS resolution failed", "the host name is not known"},
        {"No route to host", "the network has no route to that host"},
        {"imed out", "it did not answer in time"},
        {"failed to connect", ""},
        {"Socket closed", "it closed the connection"},
    };
    for (const auto& [words, reason] : kReasons) {
        if (message.find(words) != std::string::npos) {
            return *reason != 0 ? reason : tlsReasonOf(message, hasTls);
        }
    }
    return message;
}

}  // namespace millrace::client
