#pragma once
// Points this process's S3 reading at a test's server. The store is made once a process, so a test
// binary has one server address: reopen servers on its port.
#include <cstdlib>
#include <string>

namespace millrace::test {

inline void useS3Server(const std::string& endpoint, int attempts) {
    ::setenv("AWS_ENDPOINT_URL", endpoint.c_str(), 1);
    ::setenv("AWS_ACCESS_KEY_ID", "test", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "test", 1);
    ::setenv("AWS_MAX_ATTEMPTS", std::to_string(attempts).c_str(), 1);
    ::setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    ::setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
}

}  // namespace millrace::test
