// Selects the part of the submitter's environment that a run stores: it starts the user's scripts.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "app/session/submission.h"
#include "backend/text/utf8.h"

namespace millrace::session {
namespace {

// Exact names, or prefixes ("LC_*").
constexpr std::array kAllowed = {"PATH",
                                 "VIRTUAL_ENV",
                                 "CONDA_PREFIX",
                                 "CONDA_DEFAULT_ENV",
                                 "HOME",
                                 "USER",
                                 "LOGNAME",
                                 "SHELL",
                                 "LANG",
                                 "LANGUAGE",
                                 "LC_*",
                                 "TZ",
                                 "TMPDIR",
                                 "PYTHON*",
                                 "LD_LIBRARY_PATH",
                                 "OMP_*",
                                 "MKL_*",
                                 "KMP_*",
                                 "OPENBLAS_*",
                                 "CUDA_*",
                                 "NVIDIA_*",
                                 "NCCL_*",
                                 "GLOO_*",
                                 "TORCH_*",
                                 "PYTORCH_*",
                                 "TORCHINDUCTOR_*",
                                 "TRITON_*",
                                 "XDG_CACHE_HOME",
                                 "XDG_RUNTIME_DIR",
                                 "HF_HOME",
                                 "HF_DATASETS_CACHE",
                                 "MILLRACE_BIN_DIR",
                                 "MILLRACE_FEED_LIBRARY",
                                 "MALLOC_*"};

constexpr std::array kSecretWords = {"SECRET", "TOKEN",  "PASSW",  "CREDENTIAL", "APIKEY",
                                     "_KEY",   "KEY_ID", "COOKIE", "_AUTH",      "PRIVATE"};
constexpr std::size_t kValueBytesMax = std::size_t{64} << 10;

bool isAllowed(std::string_view name) {
    return std::any_of(kAllowed.begin(), kAllowed.end(), [name](std::string_view allowed) {
        return allowed.ends_with('*') ? name.starts_with(allowed.substr(0, allowed.size() - 1))
                                      : name == allowed;
    });
}

bool looksSecret(std::string_view name) {
    std::string upper(name);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return std::any_of(kSecretWords.begin(), kSecretWords.end(), [&](std::string_view word) {
        return upper.find(word) != std::string::npos;
    });
}

}  // namespace

Result<values::LaunchPlace> launchPlace(const std::vector<std::string>& more) {
    std::vector<std::string> all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        all.emplace_back(*entry);
    }
    std::error_code error;
    return launchPlaceOf(all, std::filesystem::current_path(error).string(), more);
}

Result<values::LaunchPlace> launchPlaceOf(const std::vector<std::string>& environment,
                                          std::string workingDirectory,
                                          const std::vector<std::string>& more) {
    values::LaunchPlace place;
    place.workingDirectory = std::move(workingDirectory);
    for (const std::string_view text : environment) {
        const std::size_t equals = std::min(text.find('='), text.size());
        const std::string_view name = text.substr(0, equals);
        const std::string value(text.substr(std::min(equals + 1, text.size())));
        const bool fits = value.size() <= kValueBytesMax && !findBadByte(value).has_value();
        if (fits && isAllowed(name) && !looksSecret(name)) {
            place.environment[std::string(name)] = value;
        }
    }
    for (const std::string& name : more) {
        const char* value = std::getenv(name.c_str());
        if (value == nullptr) {
            return invalidArgument("--env ", name, ": is not set here");
        }
        if (looksSecret(name)) {
            return invalidArgument("--env ", name,
                                   ": by its name it is a secret, and what goes with a run is "
                                   "stored and shown; let the script read it from a file");
        }
        if (findBadByte(value).has_value()) {
            return invalidArgument("--env ", name, ": its value is not UTF-8");
        }
        place.environment[name] = value;
    }
    return place;
}

}  // namespace millrace::session
