#include "app/ssh/transfer.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backend/core/ids.h"
#include "backend/filesystem/files.h"
#include "backend/filesystem/scratch_directory.h"
#include "backend/system/pipe.h"

namespace millrace::ssh {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kScriptTimeout{120'000}, kLocalTimeout{300'000},
    kRemoveTimeout{5'000};
constexpr int kLookMs = 100;

// A transfer: its connection, whom to report progress to, and when to give up.
struct Sending {
    Connection& connection;
    const Progress& progress;
    const std::stop_token& stop;
    bool isUnwanted() const { return connection.isUnwanted(stop); }
};

std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of("\n\r") + 1);
    return text;
}

Status remoteStatus(const Connection& connection, const std::string& what,
                    const SubprocessOutput& output) {
    RETURN_IF_ERROR(connection.state());
    const std::string words = trimmed(output.err);
    const bool isFull = words.find("No space left") != std::string::npos ||
                        words.find("quota exceeded") != std::string::npos;
    return isFull ? resourceExhausted(what, ": ", words) : failedPrecondition(what, ": ", words);
}

Result<std::string> runLocal(const Sending& sending, std::vector<std::string> argv,
                             const std::string& directory) {
    SubprocessOptions options;
    options.argv = std::move(argv);
    options.workingDirectory = directory;
    options.timeout = kLocalTimeout;
    options.isUnwanted = [&] { return sending.isUnwanted(); };
    ASSIGN_OR_RETURN(const SubprocessOutput output, Subprocess::run(options));
    if (output.exitCode != 0) {
        return failedPrecondition(options.argv.front(), ": ", trimmed(output.err));
    }
    return output.out;
}

// Copies the bytes of `file` into `name`, a file in the home there.
Status sendBytes(const Sending& sending, const std::string& file, const std::string& name) {
    UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.isOpen()) {
        return errnoStatus(errno, file);
    }
    struct stat info{};
    ::fstat(fd.get(), &info);
    UniqueFd errors, theirErrors;
    RETURN_IF_ERROR(makePipe(errors, theirErrors));
    ::fcntl(errors.get(), F_SETFL, O_NONBLOCK);
    const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    SubprocessOptions child;
    // Only words that mean the same to every login shell.
    child.argv = sending.connection.commandLine("umask 077; cat > " + name);
    child.stdinFd = fd.get();
    child.stdoutFd = nowhere.get();  // drops what the login shell there prints
    child.stderrFd = theirErrors.get();
    child.newGroup = true;
    ASSIGN_OR_RETURN(Subprocess sender, Subprocess::start(child));
    theirErrors.reset();
    int code = 0;
    for (;;) {
        ASSIGN_OR_RETURN(const bool hasEnded, sender.poll(code));
        if (hasEnded) {
            break;
        }
        if (sending.isUnwanted()) {
            return cancelled(file, ": sending was given up");
        }
        RETURN_IF_ERROR(sending.connection.state());
        if (sending.progress) {
            // The child shares this descriptor's file offset.
            sending.progress(::lseek(fd.get(), 0, SEEK_CUR), info.st_size);
        }
        ::poll(nullptr, 0, kLookMs);
    }
    if (code != 0) {
        SubprocessOutput output;
        char buffer[4'096];
        const ssize_t n = ::read(errors.get(), buffer, sizeof buffer);
        output.err.assign(buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        return remoteStatus(sending.connection, file, output);
    }
    if (sending.progress) {
        sending.progress(info.st_size, info.st_size);
    }
    return okStatus();
}

// The same; removes a partial copy after a failure, also when the transfer was given up.
Status send(const Sending& sending, const std::string& file, const std::string& name) {
    const Status status = sendBytes(sending, file, name);
    if (!status.ok()) {
        sending.connection.remove(name, kRemoveTimeout);
    }
    return status;
}

Result<std::string> runThere(const Sending& sending, const std::string& what, std::string script) {
    ASSIGN_OR_RETURN(const SubprocessOutput output,
                     sending.connection.run(std::move(script), kScriptTimeout, sending.stop));
    if (output.exitCode != 0) {
        return remoteStatus(sending.connection, what, output);
    }
    return trimmed(output.out);
}

Result<std::string> sha256Of(const Sending& sending, const std::string& file) {
    ASSIGN_OR_RETURN(const std::string line, runLocal(sending, {"sha256sum", "--", file}, ""));
    const std::size_t begin = line.rfind('\\', 0) == 0 ? 1 : 0;  // sha256sum escapes such names
    return line.substr(begin, line.find(' ') - begin);
}

std::string incomingName() {
    return strCat(".millrace-incoming-", newUid(0));
}

// The shared part of both scripts: it trusts no file before its sum was compared.
constexpr std::string_view kCompare = R"sh(
set -e
incoming=$PWD/$incoming
trap 'rm -rf "$incoming" "$new"' EXIT
for tool in sha256sum $tools; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed there" >&2; exit 1; }
done
[ "$(sha256sum < "$incoming" | cut -d' ' -f1)" = "$sum" ] ||
    { echo 'what arrived is not what was sent; try again' >&2; exit 1; }
)sh";

constexpr std::string_view kPlaceFile = R"sh(
umask 077
mkdir -p "$directory"
mv -f "$incoming" "$directory/$name"
cd "$directory" && printf '%s\n' "$PWD/$name"
)sh";

constexpr std::string_view kPlacePrograms = R"sh(
root=$HOME/.local/share/millrace
mkdir -p "$root" "$HOME/.local/bin"
new=$root/.new-$$
mkdir "$new"
tar -xzf "$incoming" -C "$new"
(cd "$new" && sha256sum -c --quiet SHA256SUMS)
"$new/bin/millrace" version >/dev/null
rm -rf "$root/.old-$version"
[ ! -e "$root/$version" ] || mv "$root/$version" "$root/.old-$version"
mv "$new" "$root/$version"
rm -rf "$root/.old-$version"
ln -sfn "$root/$version/bin/millrace" "$HOME/.local/bin/.millrace-new"
mv -f "$HOME/.local/bin/.millrace-new" "$HOME/.local/bin/millrace"
printf '%s\n' "$HOME/.local/bin/millrace"
)sh";

constexpr const char* kPrograms[] = {"millrace", "millraced", "millrace-loader", "millrace-data",
                                     "millrace-exec"};

bool isOfLoader(const std::string& name) {
    return name.rfind("libarrow", 0) == 0 || name.rfind("libparquet.", 0) == 0 ||
           name.rfind("libsleef.", 0) == 0;
}

// The libraries that the loader needs and that not every system has: those in lib/, and SLEEF if
// the system has it. Arrow loads its kernels at their first call, so ldd does not list them.
Result<std::vector<std::string>> librariesOf(const Sending& sending, const std::string& directory) {
    std::vector<std::string> files;
    ASSIGN_OR_RETURN(const std::string text,
                     runLocal(sending, {"ldd", directory + "/bin/millrace-loader"}, ""));
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const std::size_t path = line.find("=> /");
        const std::size_t last = line.rfind(" (");
        if (path == std::string_view::npos || last == std::string_view::npos) {
            continue;
        }
        const std::string file(line.substr(path + 3, last - path - 3));
        if (isOfLoader(fs::path(file).filename().string())) {
            files.push_back(file);
        }
    }
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory + "/lib", ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.rfind("libarrow_compute.", 0) == 0) {
            files.push_back(entry.path().string());
        }
    }
    return files;
}

Status link(const std::string& file, const std::string& directory) {
    RETURN_IF_ERROR(makeDirectories(directory));
    std::error_code error;
    fs::create_symlink(file, fs::path(directory) / fs::path(file).filename(), error);
    return error ? errnoStatus(error.value(), file) : okStatus();
}

// Makes a compressed archive of the programs, their libraries and the sums of all.
Result<std::string> packed(const Sending& sending, const Programs& programs,
                           const std::string& scratch) {
    const std::string stage = scratch + "/stage";
    for (const char* name : kPrograms) {
        RETURN_IF_ERROR(link(strCat(programs.directory, "/bin/", name), stage + "/bin"));
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> libraries,
                     librariesOf(sending, programs.directory));
    RETURN_IF_ERROR(makeDirectories(stage + "/lib"));
    for (const std::string& file : libraries) {
        RETURN_IF_ERROR(link(file, stage + "/lib"));
    }
    std::vector<std::string> sum = {"sha256sum", "--"};
    for (const auto& entry : fs::recursive_directory_iterator(stage)) {
        if (!fs::is_directory(entry)) {
            sum.push_back(entry.path().lexically_relative(stage).string());
        }
    }
    ASSIGN_OR_RETURN(const std::string sums, runLocal(sending, sum, stage));
    RETURN_IF_ERROR(writeFileAtomic(stage + "/SHA256SUMS", sums));
    const std::string archive = scratch + "/programs.tar.gz";
    RETURN_IF_ERROR(runLocal(sending,
                             {"tar", "--dereference", "--owner=0", "--group=0", "-I", "gzip -1",
                              "-cf", archive, "bin", "lib", "SHA256SUMS"},
                             stage)
                        .status());
    return archive;
}

}  // namespace

Result<std::string> sendFile(Connection& connection, const std::string& file,
                             const std::string& directory, const Progress& progress,
                             const std::stop_token& stop) {
    const Sending sending{connection, progress, stop};
    ASSIGN_OR_RETURN(const std::string sum, sha256Of(sending, file));
    const std::string incoming = incomingName();
    RETURN_IF_ERROR(send(sending, file, incoming));
    return runThere(
        sending, file,
        strCat("incoming=", incoming, "\nsum=", sum, "\ntools=\ndirectory=", shellWord(directory),
               "\nname=", shellWord(fs::path(file).filename().string()), kCompare, kPlaceFile));
}

Result<Programs> programsIn(const std::string& directory, const std::string& version) {
    std::error_code error;
    const bool isBin = fs::exists(fs::path(directory) / "millraced", error);
    Programs programs;
    programs.directory =
        isBin ? fs::path(directory).lexically_normal().parent_path().string() : directory;
    programs.version = version;
    for (const char* name : kPrograms) {
        const std::string path = strCat(programs.directory, "/bin/", name);
        if (::access(path.c_str(), X_OK) != 0) {
            return notFound(path,
                            ": is not there, so these programs cannot be brought to another "
                            "host; --programs DIR names others (with bin/ and lib/)");
        }
    }
    utsname system{};
    ::uname(&system);
    programs.system = strCat(system.sysname, " ", system.machine);
    return programs;
}

Result<Installed> install(Connection& connection, const Programs& programs,
                          const Progress& progress, const std::stop_token& stop) {
    const RemoteHostInfo& facts = connection.facts();
    if (facts.system != programs.system) {
        return failedPrecondition("the programs here are for ", programs.system, ", the host is ",
                                  facts.system, ": there are none for it");
    }
    const Sending sending{connection, progress, stop};
    const ScratchDirectory scratch("millrace");
    if (scratch.path().empty()) {
        return errnoStatus(errno, "a directory for the archive");
    }
    ASSIGN_OR_RETURN(const std::string archive, packed(sending, programs, scratch.path()));
    ASSIGN_OR_RETURN(const std::string sum, sha256Of(sending, archive));
    const std::string incoming = incomingName();
    RETURN_IF_ERROR(send(sending, archive, incoming));
    Installed done;
    done.bytes = static_cast<std::int64_t>(fs::file_size(archive));
    ASSIGN_OR_RETURN(done.program,
                     runThere(sending, "installing",
                              strCat("incoming=", incoming, "\nsum=", sum,
                                     "\ntools='tar gzip'\nversion=", shellWord(programs.version),
                                     kCompare, kPlacePrograms)));
    return done;
}

}  // namespace millrace::ssh
