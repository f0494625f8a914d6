#pragma once
// Copies files and programs to a host, through its connection.
//
// A copy goes to a temporary name in the home there, its SHA-256 is compared, and only then is it
// renamed. Needs sh, cat, tar, gzip and sha256sum there and tar, gzip and sha256sum here. Threads:
// one caller; blocks. Failure: the remote's own words, and the partial copy is removed; a full file
// system is kResourceExhausted.
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/ssh/connection.h"

namespace millrace::ssh {

/// Bytes sent, bytes in total.
using Progress = std::function<void(std::int64_t done, std::int64_t all)>;

/// Sends the file to `directory` there (created, 0700), under its own name; returns its path there.
Result<std::string> sendFile(Connection& connection, const std::string& file,
                             const std::string& directory, const Progress& progress,
                             const std::stop_token& stop = {});

struct Programs {
    std::string directory;  ///< has bin/ and lib/
    std::string version;    ///< names the directory there
    std::string system;     ///< "Linux x86_64"
};

/// The programs in `directory` (or the directory around a bin/); kNotFound names what is missing.
Result<Programs> programsIn(const std::string& directory, const std::string& version);

struct Installed {
    std::string program;     ///< path of millrace there
    std::int64_t bytes = 0;  ///< sent, compressed
};

/// Copies them into ~/.local/share/millrace/VERSION there and links ~/.local/bin/millrace to it.
Result<Installed> install(Connection& connection, const Programs& programs,
                          const Progress& progress, const std::stop_token& stop = {});

}  // namespace millrace::ssh
