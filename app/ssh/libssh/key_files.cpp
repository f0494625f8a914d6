#include "app/ssh/libssh/key_files.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include <sys/stat.h>
#include <unistd.h>

#include <absl/strings/escaping.h>

namespace millrace::libssh {
namespace {

// Answers libssh when a file has a passphrase: records the request, and returns the passphrase if
// it is known.
struct Passphrase {
    const Secret* known = nullptr;
    bool isAsked = false;
};

int givePassphrase(const char*, char* buffer, size_t size, int, int, void* user) {
    auto* passphrase = static_cast<Passphrase*>(user);
    passphrase->isAsked = true;
    if (passphrase->known == nullptr || passphrase->known->view().size() + 1 > size) {
        return -1;
    }
    std::memcpy(buffer, passphrase->known->text(), passphrase->known->view().size() + 1);
    return 0;
}

// Whether other users can read the file, which a private key must not allow.
bool isOpenToOthers(const std::string& path) {
    struct stat status{};
    constexpr mode_t kOthers = 077;
    if (::stat(path.c_str(), &status) != 0 || status.st_uid != ::getuid() ||
        (status.st_mode & kOthers) == 0) {
        return false;
    }
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", status.st_mode & 07777u);
    sayOnStderr(strCat("Permissions ", mode, " for '", path,
                       "' are too open.\nThis private key will be ignored."));
    return true;
}

}  // namespace

Key publicKeyOf(const std::string& path) {
    for (const std::string& file : {path + ".pub", path}) {
        ssh_key key = nullptr;
        if (::access(file.c_str(), R_OK) == 0 &&
            ssh_pki_import_pubkey_file(file.c_str(), &key) == SSH_OK) {
            return Key(key);
        }
    }
    return nullptr;
}

Key privateKeyOf(const std::string& path, int tries, Questions& questions) {
    if (::access(path.c_str(), R_OK) != 0 || isOpenToOthers(path)) {
        return nullptr;
    }
    Passphrase passphrase;
    std::optional<Secret> answer;
    for (int asked = 0;; ++asked) {
        ssh_key key = nullptr;
        passphrase.isAsked = false;
        if (ssh_pki_import_privkey_file(path.c_str(), nullptr, givePassphrase, &passphrase, &key) ==
            SSH_OK) {
            return Key(key);
        }
        if (!passphrase.isAsked) {
            sayOnStderr(strCat("Load key \"", path, "\": invalid format"));
            return nullptr;
        }
        if (asked == tries) {
            return nullptr;
        }
        answer = questions.ask(strCat("Enter passphrase for key '", path, "': "));
        if (!answer.has_value() || answer->view().empty()) {
            return nullptr;
        }
        passphrase.known = &*answer;
    }
}

Key certificateOf(const std::string& path) {
    const std::string file = path + "-cert.pub";
    ssh_key key = nullptr;
    if (::access(file.c_str(), R_OK) == 0 &&
        ssh_pki_import_cert_file(file.c_str(), &key) == SSH_OK) {
        return Key(key);
    }
    return nullptr;
}

std::string blobOf(ssh_key key) {
    char* text = nullptr;
    std::string blob;
    if (ssh_pki_export_pubkey_base64(key, &text) == SSH_OK) {
        const Text owned(text);
        if (!absl::Base64Unescape(owned.get(), &blob)) {
            blob.clear();
        }
    }
    return blob;
}

}  // namespace millrace::libssh
