#include "app/session/host_book.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "backend/core/unique_fd.h"
#include "backend/filesystem/files.h"
#include "backend/text/json.h"
#include "backend/text/text.h"

namespace millrace::session {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kBookBytesMax = 4 << 20;

// Locks the book; held while the book is read and written.
Result<UniqueFd> lockOf(const std::string& path) {
    RETURN_IF_ERROR(makeDirectories(std::filesystem::path(path).parent_path().string(), 0700));
    UniqueFd fd(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd.isOpen()) {
        return errnoStatus(errno, path + ".lock");
    }
    while (::flock(fd.get(), LOCK_EX) != 0) {
        if (errno != EINTR) {
            return errnoStatus(errno, path + ".lock");
        }
    }
    return fd;
}

std::vector<std::string> namesOf(const std::vector<NamedHost>& hosts) {
    std::vector<std::string> names;
    for (const NamedHost& host : hosts) {
        names.push_back(host.name);
    }
    return names;
}

}  // namespace

bool isHostName(std::string_view word) {
    const auto isWordChar = [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
    };
    return !word.empty() && word.size() <= 100 &&
           std::isalnum(static_cast<unsigned char>(word.front())) != 0 &&
           std::all_of(word.begin(), word.end(), isWordChar);
}

Result<std::string> HostBook::defaultPath() {
    ASSIGN_OR_RETURN(const std::string directory, configDirectory());
    return directory + "/hosts.json";
}

Result<HostBook> HostBook::read(const std::string& path) {
    HostBook book;
    const Result<std::string> text = readFile(path, kBookBytesMax);
    if (absl::IsNotFound(text.status())) {
        return book;
    }
    RETURN_IF_ERROR(text.status());
    ASSIGN_OR_RETURN(const Json document, parseJson(*text, path));
    const std::int64_t version = jsonInt(document, "version", kVersion);
    if (!document.is_object() || version != kVersion) {
        return failedPrecondition(path, ": version ", version, "; this millrace reads ", kVersion);
    }
    for (const auto& [name, entry] : jsonMember(document, "hosts").items()) {
        const Status status =
            book.put({name, jsonString(entry, "address"), jsonString(entry, "remote_dir")});
        RETURN_IF_ERROR(annotate(status, path));
    }
    return book;
}

Status HostBook::change(const std::string& path, const std::function<Status(HostBook&)>& change) {
    ASSIGN_OR_RETURN(const UniqueFd lock, lockOf(path));
    ASSIGN_OR_RETURN(HostBook book, read(path));
    RETURN_IF_ERROR(change(book));
    Json hosts = Json::object();
    for (const NamedHost& host : book.hosts_) {
        hosts[host.name] = {{"address", host.address}};
        if (!host.remoteDir.empty()) {
            hosts[host.name]["remote_dir"] = host.remoteDir;
        }
    }
    return writeFileAtomic(path, dumpJsonPretty({{"version", kVersion}, {"hosts", hosts}}) + "\n",
                           0600);
}

const NamedHost* HostBook::find(std::string_view name) const {
    const auto at = std::find_if(hosts_.begin(), hosts_.end(),
                                 [&](const NamedHost& host) { return host.name == name; });
    return at == hosts_.end() ? nullptr : &*at;
}

Status HostBook::put(NamedHost host) {
    if (!isHostName(host.name)) {
        return invalidArgument("'", host.name,
                               "' is not a name of a host: letters, digits, '.', '-' and '_'");
    }
    ASSIGN_OR_RETURN(const Address address, Address::parse(host.address));
    host.address = address.text();
    const auto at = std::lower_bound(
        hosts_.begin(), hosts_.end(), host.name,
        [](const NamedHost& one, const std::string& name) { return one.name < name; });
    if (at != hosts_.end() && at->name == host.name) {
        *at = std::move(host);
    } else {
        hosts_.insert(at, std::move(host));
    }
    return okStatus();
}

Status HostBook::remove(std::string_view name) {
    const NamedHost* host = find(name);
    if (host == nullptr) {
        return notFound("no host is named '", name, "'", nameHint(name, namesOf(hosts_)));
    }
    hosts_.erase(hosts_.begin() + (host - hosts_.data()));
    return okStatus();
}

Result<DaemonPlace> placeOf(std::string_view word, const std::string& path) {
    if (!isHostName(word)) {
        ASSIGN_OR_RETURN(Address address, Address::parse(word));
        return DaemonPlace{std::move(address), ""};
    }
    ASSIGN_OR_RETURN(const HostBook book, HostBook::read(path));
    const NamedHost* host = book.find(word);
    if (host == nullptr) {
        return invalidArgument("no host is named '", word, "'", nameHint(word, namesOf(book.all())),
                               "; 'millrace host add ", word, " ssh://", word,
                               "' names one, and ssh://", word, " goes there without a name");
    }
    ASSIGN_OR_RETURN(Address address, Address::parse(host->address));
    return DaemonPlace{std::move(address), host->remoteDir};
}

}  // namespace millrace::session
