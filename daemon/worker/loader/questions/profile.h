#pragma once
// `millrace-loader profile PATH` and `init PATH`: the contents of a dataset's columns, the cost of
// reading its files, and a first spec made from that. Both print one JSON document.
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::loader {

struct ProfileRequest {
    std::vector<std::string> paths;  ///< relative to baseDir
    std::string baseDir;             ///< "": the process's working directory
    std::string format;              ///< "": by the first path's suffix
    std::vector<std::string> csv;    ///< KEY=VALUE below dataset.csv
    double seconds = 4;
    bool isFull = false;
    bool advises = true;
    std::int64_t threads = 0;  ///< 0: one per core
    std::string request;
    // For init:
    std::string name = "first";
    std::vector<std::string> specPaths;  ///< as they are written into the spec; empty: paths
    std::string label;
};

/// The roles. The process's exit code: 0, 3 stopped by a signal, 4 input or data, 5 other.
int runProfile(const ProfileRequest& request);
int runInit(const ProfileRequest& request);

}  // namespace millrace::loader
