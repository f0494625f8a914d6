#pragma once
// Files and programs on their way to a host, through its connection.
//
// What is sent lands aside in the home there, is compared by its SHA-256, and only then takes its
// place by a rename. Needs sh, cat, tar, gzip and sha256sum there and tar, gzip and sha256sum here.
// Threads: one caller; blocks. Failure: the remote's own words, what was begun is removed; a place
// that is full is kResourceExhausted.
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/ssh/connection.h"

namespace millrace::ssh {

/// Bytes sent, bytes in all.
using Progress = std::function<void(std::int64_t done, std::int64_t all)>;

/// Sends the file to `directory` there (made, 0700), under its own name; the path it has then.
Result<std::string> sendFile(Connection& connection, const std::string& file,
                             const std::string& directory, const Progress& progress,
                             const std::stop_token& stop = {});

struct Programs {
    std::string directory;  ///< has bin/ and lib/
    std::string version;    ///< names the directory there
    std::string system;     ///< "Linux x86_64"
};

/// What `directory` (or the directory around a bin/) has of programs; kNotFound names what is
/// missing.
Result<Programs> programsIn(const std::string& directory, const std::string& version);

struct Installed {
    std::string program;     ///< path of millrace there
    std::int64_t bytes = 0;  ///< sent, compressed
};

/// Brings them into ~/.local/share/millrace/VERSION there and links ~/.local/bin/millrace to it.
Result<Installed> install(Connection& connection, const Programs& programs,
                          const Progress& progress, const std::stop_token& stop = {});

}  // namespace millrace::ssh
