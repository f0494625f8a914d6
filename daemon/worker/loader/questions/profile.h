#pragma once
// `millrace-loader profile PATH` and `init PATH`: what a dataset's columns are like, what its files
// cost to read, and a first spec made from that. Both print one JSON document.
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::loader {

struct ProfileRequest {
    std::vector<std::string> paths;  ///< relative to baseDir
    std::string baseDir;             ///< "": where the process runs
    std::string format;              ///< "": by the first path's ending
    std::string delimiter;           ///< of CSV files, one character; "": by the ending
    double seconds = 4;
    bool isFull = false;
    bool advises = true;
    std::int64_t threads = 0;  ///< 0: one a core
    std::string request;
    // Of init.
    std::string name = "first";
    std::vector<std::string> specPaths;  ///< as they are to stand in the spec; empty: paths
    std::string label;
};

/// The roles. The process's exit code: 0, 3 stopped by a signal, 4 input or data, 5 other.
int runProfile(const ProfileRequest& request);
int runInit(const ProfileRequest& request);

}  // namespace millrace::loader
