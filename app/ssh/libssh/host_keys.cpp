#include "app/ssh/libssh/host_keys.h"

#include <algorithm>

#include <libssh/callbacks.h>

#include "backend/filesystem/files.h"

namespace millrace::libssh {
namespace {

constexpr std::size_t kKnownHostsBytes = 16 << 20;

struct FreeHash {
    void operator()(unsigned char* hash) const { ssh_clean_pubkey_hash(&hash); }
};

struct HostKey {
    Key key;
    std::string type, fingerprint;
    std::string name;     // in known_hosts
    std::string address;  // as ssh(1) shows it
};

Status refused(const std::string& lines) {
    return permissionDenied(lines, lines.empty() ? "" : "\n", "Host key verification failed.");
}

std::string changedBlock(const HostKey& host, const KnownPlace& place) {
    std::string text =
        "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
        "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
        "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
        "IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\n"
        "Someone could be eavesdropping on you right now (man-in-the-middle attack)!\n"
        "It is also possible that a host key has just been changed.\n";
    strAppend(&text, "The fingerprint for the ", host.type, " key sent by the remote host is\n",
              host.fingerprint, ".\nPlease contact your system administrator.\n");
    strAppend(&text, "Add correct host key in ", place.file, " to get rid of this message.\n",
              "Offending ", host.type, " key in ", place.file, ":", place.line, "\nHost key for ",
              host.name, " has changed and you have requested strict checking.");
    return text;
}

std::string revokedBlock(const HostKey& host, const KnownPlace& place) {
    return strCat(
        "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
        "@       WARNING: REVOKED HOST KEY DETECTED!               @\n"
        "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
        "The ",
        host.type, " host key for ", host.name, " is marked as revoked (", place.file, ":",
        place.line, ").");
}

std::string unknownPrompt(const HostKey& host, bool hasOtherTypes) {
    return strCat(
        "The authenticity of host '", host.name, " (", host.address, ")' can't be established",
        hasOtherTypes ? "\nbut keys of different type are already known for this host." : ".", "\n",
        host.type, " key fingerprint is ", host.fingerprint,
        ".\nThis key is not known by any other names.\n"
        "Are you sure you want to continue connecting (yes/no/[fingerprint])? ");
}

bool isConfirmed(const HostKey& host, bool hasOtherTypes, Questions& questions) {
    std::string prompt = unknownPrompt(host, hasOtherTypes);
    while (true) {
        const std::optional<Secret> answer = questions.ask(prompt);
        if (!answer.has_value()) {
            return false;
        }
        std::string word(answer->view());
        word.erase(0, word.find_first_not_of(" \t"));
        word.erase(word.find_last_not_of(" \t") + 1);
        if (lowerCase(word) == "yes" || word == host.fingerprint) {
            return true;
        }
        if (lowerCase(word) == "no" || word.empty()) {
            return false;
        }
        prompt = "Please type 'yes', 'no' or the fingerprint: ";
    }
}

Status remember(ssh_session session, const HostKey& host, const Settings& settings) {
    if (settings.userKnownHosts.empty() || ssh_session_update_known_hosts(session) != SSH_OK) {
        sayOnStderr(strCat("Failed to add the host to the list of known hosts (",
                           settings.userKnownHosts.empty() ? "none" : settings.userKnownHosts[0],
                           ")."));
        return okStatus();
    }
    sayOnStderr(strCat("Warning: Permanently added '", host.name, "' (", host.type,
                       ") to the list of known hosts."));
    return okStatus();
}

Status meetUnknown(ssh_session session, const HostKey& host, const Settings& settings,
                   bool hasOtherTypes, Questions& questions) {
    switch (settings.strict) {
        case StrictHostKeys::kYes:
            return refused(strCat("No ", host.type, " host key is known for ", host.name,
                                  " and you have requested strict checking."));
        case StrictHostKeys::kAsk:
            if (!isConfirmed(host, hasOtherTypes, questions)) {
                return refused("");
            }
            break;
        case StrictHostKeys::kAcceptNew:
        case StrictHostKeys::kNo:
            break;
    }
    return remember(session, host, settings);
}

Result<HostKey> hostKeyOf(ssh_session session, const Settings& settings,
                          const std::string& address) {
    HostKey host;
    ssh_key key = nullptr;
    if (ssh_get_server_publickey(session, &key) != SSH_OK) {
        return permissionDenied("ssh: the host has sent no key: ", errorOf(session));
    }
    host.key.reset(key);
    host.type = keyTypeName(ssh_key_type(key));
    host.fingerprint = fingerprintOf(key);
    host.name = settings.hostKeyName.empty() ? knownHostsName(settings.hostName, settings.port)
                                             : settings.hostKeyName;
    host.address =
        address.empty() ? "<no hostip for proxy command>" : knownHostsName(address, settings.port);
    return host;
}

void addKnown(const std::string& file, const std::string& name, ssh_key key,
              std::vector<KnownPlace>* found) {
    const Result<std::string> text = readFile(file, kKnownHostsBytes);
    if (!text.ok()) {
        return;
    }
    constexpr std::string_view kRevoked = "@revoked";
    int number = 0;
    for (std::size_t at = 0; at < text->size();) {
        const std::size_t end = std::min(text->find('\n', at), text->size());
        std::string line = text->substr(at, end - at);
        at = end + 1;
        ++number;
        const bool isRevoked = line.rfind(kRevoked, 0) == 0;
        if (isRevoked) {
            line.erase(0, line.find_first_not_of(" \t", kRevoked.size()));
        }
        ssh_knownhosts_entry* entry = nullptr;
        if (ssh_known_hosts_parse_line(name.c_str(), line.c_str(), &entry) != SSH_OK) {
            continue;
        }
        const bool isSameType = ssh_key_type(entry->publickey) == ssh_key_type(key);
        const bool isSame =
            isSameType && ssh_key_cmp(entry->publickey, key, SSH_KEY_CMP_PUBLIC) == 0;
        found->push_back({file, number, isSameType, isSame, isRevoked});
        ssh_knownhosts_entry_free(entry);
    }
}

}  // namespace

Status checkHostKey(ssh_session session, const Settings& settings, const std::string& address,
                    Questions& questions) {
    ASSIGN_OR_RETURN(const HostKey host, hostKeyOf(session, settings, address));
    std::vector<std::string> files = settings.userKnownHosts;
    files.insert(files.end(), settings.globalKnownHosts.begin(), settings.globalKnownHosts.end());
    const std::vector<KnownPlace> places = findKnown(files, host.name, host.key.get());
    const KnownPlace* changed = nullptr;
    bool isKnown = false, hasOtherTypes = false;
    for (const KnownPlace& place : places) {
        if (place.isRevoked) {
            if (place.isSame) {
                return refused(revokedBlock(host, place));
            }
            continue;
        }
        isKnown = isKnown || place.isSame;
        hasOtherTypes = hasOtherTypes || !place.isSameType;
        if (place.isSameType && !place.isSame && changed == nullptr) {
            changed = &place;
        }
    }
    if (isKnown) {
        return okStatus();
    }
    if (changed != nullptr) {
        return refused(changedBlock(host, *changed));
    }
    return meetUnknown(session, host, settings, hasOtherTypes, questions);
}

std::string keyTypeName(ssh_keytypes_e type) {
    switch (type) {
        case SSH_KEYTYPE_ED25519:
            return "ED25519";
        case SSH_KEYTYPE_RSA:
            return "RSA";
        case SSH_KEYTYPE_ECDSA_P256:
        case SSH_KEYTYPE_ECDSA_P384:
        case SSH_KEYTYPE_ECDSA_P521:
            return "ECDSA";
        case SSH_KEYTYPE_SK_ECDSA:
            return "ECDSA-SK";
        case SSH_KEYTYPE_SK_ED25519:
            return "ED25519-SK";
        default:
            return ssh_key_type_to_char(type);
    }
}

std::string knownHostsName(const std::string& host, int port) {
    return port == 22 ? host : strCat("[", host, "]:", port);
}

std::string fingerprintOf(ssh_key key) {
    unsigned char* bytes = nullptr;
    std::size_t size = 0;
    if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &bytes, &size) != SSH_OK) {
        return "";
    }
    const std::unique_ptr<unsigned char, FreeHash> owned(bytes);
    const Text text(ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, bytes, size));
    return text == nullptr ? "" : text.get();
}

std::vector<KnownPlace> findKnown(const std::vector<std::string>& files, const std::string& name,
                                  ssh_key key) {
    std::vector<KnownPlace> found;
    for (const std::string& file : files) {
        addKnown(file, name, key, &found);
    }
    return found;
}

}  // namespace millrace::libssh
