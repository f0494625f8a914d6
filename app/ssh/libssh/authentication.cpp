#include "app/ssh/libssh/authentication.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <absl/strings/escaping.h>

#include "backend/system/unix_socket.h"

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

// Reads PATH.pub, or PATH itself if its format contains the public key (OpenSSH's does, even with a
// passphrase). A missing file is an empty Key; an unreadable one is reported on stderr and is an
// empty Key too, as in ssh(1).
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

// Asks for the passphrase, if there is one, at most `tries` times.
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

// Reads PATH-cert.pub; a missing file is an empty Key.
Key certificateOf(const std::string& path) {
    const std::string file = path + "-cert.pub";
    ssh_key key = nullptr;
    if (::access(file.c_str(), R_OK) == 0 &&
        ssh_pki_import_cert_file(file.c_str(), &key) == SSH_OK) {
        return Key(key);
    }
    return nullptr;
}

// Returns the public key in its wire format; "" if it cannot be exported.
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

// The host may itself wait for a person (a phone) before it answers.
constexpr std::chrono::seconds kAnswerTime{300};

bool isLost(ssh_session session) {
    return ssh_is_connected(session) == 0 || !farewellOf(session).empty() ||
           (ssh_get_status(session) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0;
}

// After an error of the agent or of one key the session is still usable.
int deniedUnlessLost(ssh_session session, int code) {
    return code == SSH_AUTH_ERROR && !isLost(session) ? SSH_AUTH_DENIED : code;
}

void waitForHost(ssh_session session) {
    const bool sends = (ssh_get_poll_flags(session) & SSH_WRITE_PENDING) != 0;
    pollfd socket{ssh_get_fd(session), static_cast<short>(POLLIN | (sends ? POLLOUT : 0)), 0};
    ::poll(&socket, 1, 1000);
}

// Repeats one of libssh's calls until it is done. libssh's own wait never ends if the connection is
// gone.
template <class Call>
int finish(ssh_session session, Call call) {
    const auto end = std::chrono::steady_clock::now() + kAnswerTime;
    while (!isLost(session) && std::chrono::steady_clock::now() < end) {
        const int code = call();
        if (code != SSH_AUTH_AGAIN) {
            return code;
        }
        waitForHost(session);
    }
    return SSH_AUTH_ERROR;
}

std::string textOf(const char* text) {
    return text == nullptr ? "" : text;
}

// Makes a host's text safe to print: it must not control the terminal.
std::string shown(const std::string& text) {
    std::string made = text;
    std::ranges::replace_if(
        made, [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; },
        '?');
    return made;
}

}  // namespace

std::string methodNames(int methods) {
    constexpr std::pair<unsigned, const char*> kNames[] = {
        {SSH_AUTH_METHOD_PUBLICKEY, "publickey"},
        {SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi-with-mic"},
        {SSH_AUTH_METHOD_PASSWORD, "password"},
        {SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive"},
        {SSH_AUTH_METHOD_HOSTBASED, "hostbased"}};
    std::string names;
    for (const auto& [bit, name] : kNames) {
        if ((static_cast<unsigned>(methods) & bit) != 0) {
            strAppend(&names, names.empty() ? "" : ",", name);
        }
    }
    return names;
}

Status Authentication::run() {
    ssh_set_blocking(session_, 0);
    int code = finish(session_, [&] { return ssh_userauth_none(session_, nullptr); });
    while (true) {
        if (code == SSH_AUTH_SUCCESS) {
            return okStatus();
        }
        if (code == SSH_AUTH_ERROR) {
            return broken();
        }
        const int methods = ssh_userauth_list(session_, nullptr);
        code = tryMethods(methods);
        if (code == SSH_AUTH_DENIED) {
            return denied(methods);
        }
    }
}

int Authentication::tryMethods(int methods) {
    const auto offers = [&](unsigned method) {
        return (static_cast<unsigned>(methods) & method) != 0;
    };
    int code = SSH_AUTH_DENIED;
    if (offers(SSH_AUTH_METHOD_PUBLICKEY) && settings_.hasPublicKey) {
        code = tryPublicKeys();
    }
    if (code == SSH_AUTH_DENIED && offers(SSH_AUTH_METHOD_INTERACTIVE) && settings_.hasKeyboard &&
        !settings_.isBatch && !isKeyboardTried_) {
        code = tryKeyboard();
    }
    if (code == SSH_AUTH_DENIED && offers(SSH_AUTH_METHOD_PASSWORD) && settings_.hasPassword &&
        !settings_.isBatch && !isPasswordTried_ && !hasGivenUp_) {
        code = tryPassword();
    }
    return code;
}

int Authentication::tryPublicKeys() {
    int code = isAgentTried_ ? SSH_AUTH_DENIED : tryAgent();
    for (const std::string& path : settings_.identityFiles) {
        if (code != SSH_AUTH_DENIED) {
            break;
        }
        if (triedFiles_.insert(path).second) {
            code = tryKeyFile(path);
        }
    }
    return code;
}

int Authentication::tryAgent() {
    isAgentTried_ = true;
    std::string socket = settings_.identityAgent;
    if (socket.empty()) {
        const char* environment = std::getenv("SSH_AUTH_SOCK");
        socket = environment == nullptr ? "" : environment;
    }
    if (socket.empty() || socket == "none") {
        return SSH_AUTH_DENIED;
    }
    int end = -1;
    if (settings_.isIdentitiesOnly) {
        std::vector<std::string> blobs;
        for (const std::string& path : settings_.identityFiles) {
            const Key key = publicKeyOf(path);
            if (key != nullptr) {
                blobs.push_back(blobOf(key.get()));
            }
        }
        Result<std::unique_ptr<AgentFilter>> filter = AgentFilter::open(socket, std::move(blobs));
        if (filter.ok()) {
            filter_ = std::move(*filter);
            end = filter_->releaseEnd();
        }
    } else {
        Result<UniqueFd> connected = connectUnix(socket);
        end = connected.ok() ? connected->release() : -1;
    }
    if (end < 0 || ssh_set_agent_socket(session_, end) != SSH_OK) {
        return SSH_AUTH_DENIED;
    }
    return deniedUnlessLost(
        session_, finish(session_, [&] { return ssh_userauth_agent(session_, nullptr); }));
}

int Authentication::tryKeyFile(const std::string& path) {
    const Key publicKey = publicKeyOf(path);
    if (publicKey != nullptr) {
        const int code = finish(session_, [&] {
            return ssh_userauth_try_publickey(session_, nullptr, publicKey.get());
        });
        if (code != SSH_AUTH_SUCCESS) {
            return deniedUnlessLost(session_, code);
        }
    }
    const Key key = privateKeyOf(path, settings_.isBatch ? 0 : settings_.prompts, questions_);
    if (key == nullptr) {
        return SSH_AUTH_DENIED;
    }
    const auto show = [&] {
        return finish(session_,
                      [&] { return ssh_userauth_publickey(session_, nullptr, key.get()); });
    };
    const Key certificate = certificateOf(path);
    if (certificate != nullptr &&
        ssh_pki_copy_cert_to_privkey(certificate.get(), key.get()) == SSH_OK) {
        const int code = show();
        if (code == SSH_AUTH_SUCCESS || code == SSH_AUTH_PARTIAL) {
            return code;
        }
    }
    return deniedUnlessLost(session_, show());
}

int Authentication::tryKeyboard() {
    isKeyboardTried_ = true;
    const auto talk = [&] {
        return finish(session_, [&] { return ssh_userauth_kbdint(session_, nullptr, nullptr); });
    };
    for (int i = 0; i < settings_.prompts; ++i) {
        if (i > 0) {
            sayOnStderr("Permission denied, please try again.");
        }
        int code = talk();
        bool isAsked = false;
        while (code == SSH_AUTH_INFO) {
            isAsked = isAsked || ssh_userauth_kbdint_getnprompts(session_) > 0;
            const int answered = answerPrompts();
            if (answered != SSH_AUTH_SUCCESS) {
                return answered;
            }
            code = talk();
        }
        // A host that has nothing to ask is not asked again (sshd without PAM).
        if (code != SSH_AUTH_DENIED || !isAsked) {
            isKeyboardTried_ = code != SSH_AUTH_PARTIAL;
            return code;
        }
    }
    return SSH_AUTH_DENIED;
}

int Authentication::answerPrompts() {
    for (const char* text :
         {ssh_userauth_kbdint_getname(session_), ssh_userauth_kbdint_getinstruction(session_)}) {
        if (!textOf(text).empty()) {
            sayOnStderr(strCat("(", settings_.user, "@", settings_.hostName, ") ", shown(text)));
        }
    }
    const int count = ssh_userauth_kbdint_getnprompts(session_);
    for (int i = 0; i < count; ++i) {
        const auto number = static_cast<unsigned>(i);
        const std::string prompt = textOf(ssh_userauth_kbdint_getprompt(session_, number, nullptr));
        const std::optional<Secret> answer = questions_.ask(
            strCat("(", settings_.user, "@", settings_.hostName, ") ", shown(prompt)));
        if (!answer.has_value()) {
            hasGivenUp_ = true;
            return SSH_AUTH_DENIED;
        }
        if (ssh_userauth_kbdint_setanswer(session_, number, answer->text()) < 0) {
            return SSH_AUTH_ERROR;
        }
    }
    return SSH_AUTH_SUCCESS;
}

int Authentication::tryPassword() {
    isPasswordTried_ = true;
    for (int i = 0; i < settings_.prompts; ++i) {
        if (i > 0) {
            sayOnStderr("Permission denied, please try again.");
        }
        const std::optional<Secret> answer =
            questions_.ask(strCat(settings_.user, "@", settings_.hostName, "'s password: "));
        if (!answer.has_value()) {
            hasGivenUp_ = true;
            return SSH_AUTH_DENIED;
        }
        const int code = finish(
            session_, [&] { return ssh_userauth_password(session_, nullptr, answer->text()); });
        if (code != SSH_AUTH_DENIED) {
            return code;
        }
    }
    return SSH_AUTH_DENIED;
}

Status Authentication::denied(int methods) const {
    return permissionDenied(settings_.user, "@", settings_.hostName, ": Permission denied (",
                            methodNames(methods), ").");
}

Status Authentication::broken() const {
    const std::string farewell = farewellOf(session_);
    if (!farewell.empty()) {
        return unavailable("Received disconnect from ", settings_.hostName, " port ",
                           settings_.port, ":", shown(farewell));
    }
    return unavailable("Connection closed by ", settings_.hostName, " port ", settings_.port, ": ",
                       errorOf(session_));
}

}  // namespace millrace::libssh
