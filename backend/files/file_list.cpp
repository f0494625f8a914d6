#include "backend/files/file_list.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <sys/stat.h>

#include "backend/files/file_identity.h"
#include "backend/filesystem/files.h"
#include "backend/objects/object_store.h"
#include "backend/spec/data_format.h"

namespace millrace::files {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesMax = 10'000'000;
constexpr std::size_t kAlternativesMax = 10'000;
constexpr int kBracesMax = 100;

bool isWild(std::string_view text) {
    return text.find_first_of("*?[{") != std::string_view::npos;
}

/// Whether a name is skipped because the pattern's part does not ask for it. Files recovered by a
/// file system check (lost+found) are not data, and only root may enter that directory: the list of
/// files would depend on the user.
bool isHidden(std::string_view name, std::string_view part) {
    if (name == "lost+found") {
        return part != name;
    }
    return (name.starts_with('.') || name.starts_with('_')) && !part.starts_with(name[0]);
}

bool isDataName(std::string_view name, std::string_view format) {
    return spec::formatOfName(name) == format;
}

/// Expands "{a,b}" at any position, also nested: each alternative of the first brace is expanded
/// further.
Status expandBraces(const std::string& pattern, int level, std::vector<std::string>& out) {
    const std::size_t open = pattern.find('{');
    if (out.size() >= kAlternativesMax || level > kBracesMax) {
        return invalidArgument("more than ", kAlternativesMax, " alternatives or ", kBracesMax,
                               " braces in one pattern; use * or ** for them, or list the paths");
    }
    if (open == std::string::npos) {
        out.push_back(pattern);
        return okStatus();
    }
    int depth = 0;
    std::size_t begin = open + 1;
    std::vector<std::string> parts;
    for (std::size_t i = open; i < pattern.size(); ++i) {
        const char c = pattern[i];
        depth += c == '{' ? 1 : c == '}' ? -1 : 0;
        if ((c == ',' && depth == 1) || (c == '}' && depth == 0)) {
            parts.push_back(pattern.substr(begin, i - begin));
            begin = i + 1;
        }
        if (depth == 0) {
            for (const std::string& part : parts) {
                RETURN_IF_ERROR(expandBraces(pattern.substr(0, open) + part + pattern.substr(i + 1),
                                             level + 1, out));
            }
            return okStatus();
        }
    }
    out.push_back(pattern);  // an unclosed brace is literal
    return okStatus();
}

/// The alternatives of a pattern. `written`: the path for messages.
Result<std::vector<std::string>> alternativesOf(const std::string& pattern,
                                                const std::string& written) {
    std::vector<std::string> patterns;
    RETURN_IF_ERROR(annotate(expandBraces(pattern, 0, patterns), written));
    return patterns;
}

std::vector<std::string> splitPath(std::string_view path) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (begin <= path.size()) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        // Adjacent ** components mean the same as one.
        const bool isAgain =
            !parts.empty() && parts.back() == "**" && path.substr(begin, end - begin) == "**";
        if (end > begin && !isAgain) {
            parts.emplace_back(path.substr(begin, end - begin));
        }
        begin = end + 1;
    }
    return parts;
}

/// Walks the wildcard part of a glob. Each directory is walked under one name only: a link to a
/// directory that was already walked, or that contains the link, is an error that names it.
class GlobWalk {
 public:
    explicit GlobWalk(std::vector<std::string>& found) : found_(found) {}

    Status walk(const std::string& directory, const std::string& below,
                const std::vector<std::string>& parts, std::size_t at) {
        if (found_.size() > kFilesMax) {
            return resourceExhausted("more than ", kFilesMax, " files");
        }
        const std::string& part = parts[at];
        const bool isLast = at + 1 == parts.size();
        if (part == "**" && !isLast) {
            RETURN_IF_ERROR(walk(directory, below, parts, at + 1));
        }
        ASSIGN_OR_RETURN(const std::vector<Name> names, namesIn(directory, part));
        for (const auto& [name, isFile] : names) {
            if (part != "**" && !matchesGlob(part, name)) {
                continue;
            }
            const std::string path = directory + "/" + name;
            const std::string nameBelow = below.empty() ? name : below + "/" + name;
            const bool walksDirectories = part == "**" || !isLast;
            bool isDirectory = false;
            if (!isFile) {
                ASSIGN_OR_RETURN(isDirectory, enter(path, walksDirectories));
            }
            if (isDirectory && walksDirectories) {
                RETURN_IF_ERROR(walk(path, nameBelow, parts, part == "**" ? at : at + 1));
            } else if (!isDirectory && isLast) {
                found_.push_back(nameBelow);
            }
        }
        return okStatus();
    }

 private:
    using Place = std::pair<::dev_t, ::ino_t>;
    struct Name {
        std::string name;
        bool isFile;  ///< as the directory entry shows: needs no further check
    };

    /// Whether the path is a directory; an error if it will be walked and was reached by another
    /// path.
    Result<bool> enter(const std::string& path, bool willWalk) {
        struct stat info{};
        if (::stat(path.c_str(), &info) != 0) {
            const int error = errno;
            if (error == ELOOP) {
                return invalidArgument(path, ": a link that leads back to itself; remove it");
            }
            if (error == ENOENT) {
                return false;  // a dangling link: listing it as a file reports it
            }
            return errnoStatus(error, path);
        }
        if (!S_ISDIR(info.st_mode) || !willWalk) {
            return S_ISDIR(info.st_mode);
        }
        const auto [at, isNew] = directories_.emplace(Place{info.st_dev, info.st_ino}, path);
        if (isNew || at->second == path) {
            return true;
        }
        const bool isAround = path.starts_with(at->second + "/");
        return invalidArgument(path, ": a link to ", at->second,
                               isAround ? ", which contains it; remove the link"
                                        : ": its rows would be read twice; remove one of the two");
    }

    /// Names in a directory, without hidden ones that `part` does not ask for; none if it is not a
    /// directory.
    Result<std::vector<Name>> namesIn(const std::string& directory, const std::string& part) {
        struct stat info{};
        if (::stat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
            directories_.emplace(Place{info.st_dev, info.st_ino}, directory);
        }
        std::vector<Name> names;
        std::error_code error;
        fs::directory_iterator entry(directory.empty() ? "/" : directory, error);
        for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
            std::string name = entry->path().filename().string();
            if (!isHidden(name, part)) {
                std::error_code ignored;
                const bool isFile = !entry->is_symlink(ignored) && entry->is_regular_file(ignored);
                names.push_back({std::move(name), isFile});
            }
        }
        if (error && error.value() != ENOENT && error.value() != ENOTDIR) {
            return errnoStatus(error.value(), directory);
        }
        return names;
    }

    std::vector<std::string>& found_;
    std::map<Place, std::string> directories_;
};

struct Entry {
    std::string fixed;               ///< absolute directory, or the file's directory
    std::vector<std::string> names;  ///< sorted paths below it
    std::vector<DataFile> objects;   ///< in a store: one per name; empty for local files
};

/// Whether the path's components match a glob's, with `**` for any number of directories.
bool matchesParts(std::span<const std::string> pattern, std::span<const std::string> path) {
    if (pattern.empty() || path.empty()) {
        return pattern.empty() && path.empty();
    }
    const std::string& part = pattern.front();
    if (isHidden(path.front(), part)) {
        return false;
    }
    if (part != "**") {
        return matchesGlob(part, path.front()) && matchesParts(pattern.subspan(1), path.subspan(1));
    }
    if (pattern.size() == 1 && path.size() == 1) {
        return true;
    }
    return matchesParts(pattern, path.subspan(1)) ||
           (pattern.size() > 1 && matchesParts(pattern.subspan(1), path));
}

/// Keeps only the objects below `entry.fixed` that match one of the patterns.
void keepMatches(Entry& entry, std::vector<DataFile> objects,
                 const std::vector<std::string>& patterns, std::string_view format) {
    std::vector<std::vector<std::string>> parts;
    for (const std::string& pattern : patterns) {
        parts.push_back(splitPath(std::string_view(pattern).substr(entry.fixed.size())));
    }
    for (DataFile& object : objects) {
        if (!object.path.starts_with(entry.fixed)) {
            continue;
        }
        std::string name = object.path.substr(entry.fixed.size());
        const std::vector<std::string> path = splitPath(name);
        const bool isWanted = std::ranges::any_of(
            parts, [&path](const auto& pattern) { return matchesParts(pattern, path); });
        if (isWanted && (format.empty() || isDataName(name, format))) {
            entry.names.push_back(std::move(name));
            entry.objects.push_back(std::move(object));
        }
    }
}

DataFile fileOf(objects::ObjectInfo info) {
    DataFile file;
    file.path = std::move(info.uri);
    file.bytes = info.bytes;
    file.mtimeNs = info.mtimeNs;
    return file;
}

Result<std::vector<DataFile>> objectsBelow(const objects::ObjectStore& store,
                                           const std::string& prefix) {
    ASSIGN_OR_RETURN(std::vector<objects::ObjectInfo> found, store.list(prefix));
    std::vector<DataFile> files;
    files.reserve(found.size());
    for (objects::ObjectInfo& info : found) {
        files.push_back(fileOf(std::move(info)));
    }
    return files;
}

/// Lists objects of a store: a single one, those below a prefix, or the matches of a glob.
Result<Entry> listObjects(const std::string& written, std::string_view format) {
    const std::size_t bucket = std::string_view("s3://").size();
    const std::size_t slash = written.find('/', bucket);
    if (slash == bucket || written.size() == bucket || isWild(written.substr(0, slash))) {
        return invalidArgument(written, ": name the bucket: s3://BUCKET/KEY");
    }
    ASSIGN_OR_RETURN(const auto store, objects::ObjectStore::open());
    if (isWild(written)) {
        ASSIGN_OR_RETURN(const std::vector<std::string> patterns, alternativesOf(written, written));
        Entry entry{
            written.substr(0, written.rfind('/', written.find_first_of("*?[{")) + 1), {}, {}};
        ASSIGN_OR_RETURN(std::vector<DataFile> files, objectsBelow(*store, entry.fixed));
        keepMatches(entry, std::move(files), patterns, "");
        return entry.names.empty()
                   ? Result<Entry>(notFound(written, ": no object matches this pattern"))
                   : Result<Entry>(std::move(entry));
    }
    if (slash != std::string::npos && !written.ends_with('/')) {
        Result<objects::ObjectInfo> object = store->stat(written);
        if (object.ok()) {
            const std::size_t name = written.rfind('/') + 1;
            return Entry{
                written.substr(0, name), {written.substr(name)}, {fileOf(*std::move(object))}};
        }
        if (object.status().code() != absl::StatusCode::kInvalidArgument) {
            return object.status();
        }
    }
    Entry entry{written.ends_with('/') ? written : written + "/", {}, {}};
    ASSIGN_OR_RETURN(std::vector<DataFile> files, objectsBelow(*store, entry.fixed));
    keepMatches(entry, std::move(files), {entry.fixed + "**"}, format);
    return entry.names.empty()
               ? Result<Entry>(notFound(written, ": no ", format, " objects are below this prefix"))
               : Result<Entry>(std::move(entry));
}

Result<Entry> listGlob(const std::string& path, const std::string& written) {
    ASSIGN_OR_RETURN(const std::vector<std::string> patterns, alternativesOf(path, written));
    // The fixed part of the whole entry: the directories before the first wildcard or brace.
    const std::size_t wild = path.find_first_of("*?[{");
    const std::string fixed = path.substr(0, path.rfind('/', wild) + 1);
    Entry entry{fixed, {}, {}};
    GlobWalk walk(entry.names);
    for (const std::string& pattern : patterns) {
        const std::vector<std::string> parts =
            splitPath(std::string_view(pattern).substr(fixed.size()));
        if (!parts.empty()) {
            RETURN_IF_ERROR(walk.walk(fixed.substr(0, fixed.size() - 1), "", parts, 0));
        }
    }
    std::ranges::sort(entry.names);
    entry.names.erase(std::unique(entry.names.begin(), entry.names.end()), entry.names.end());
    if (entry.names.empty()) {
        return notFound(written, ": no file matches this pattern");
    }
    return entry;
}

Result<Entry> listDirectory(const std::string& path, const std::string& written,
                            std::string_view format) {
    Entry entry{path + "/", {}, {}};
    std::vector<std::string> all;
    GlobWalk walk(all);
    RETURN_IF_ERROR(walk.walk(path, "", {"**"}, 0));
    std::string other;  // a format that the directory has files of
    for (std::string& name : all) {
        const std::string found = spec::formatOfName(name);
        if (found == format) {
            entry.names.push_back(std::move(name));
        } else if (!found.empty()) {
            other = found;
        }
    }
    std::ranges::sort(entry.names);
    if (entry.names.empty()) {
        return notFound(written, ": the directory has no ", format, " files",
                        other.empty() ? ""
                                      : strCat("; dataset.format: ", other, " (--format ", other,
                                               ") reads its ", other, " files"));
    }
    return entry;
}

Result<Entry> listEntry(const std::string& written, const std::string& baseDir,
                        std::string_view format) {
    std::string_view local = written;
    if (local.starts_with("file://")) {
        local.remove_prefix(7);
    } else if (objects::isObjectUri(local)) {
        return listObjects(written, format);
    } else if (local.find("://") != std::string_view::npos) {
        return invalidArgument(written, ": only local paths, file:// and s3:// can be read");
    }
    if (local.empty()) {
        return invalidArgument("dataset.path: an empty path; give a file, directory or glob");
    }
    const std::string path = absolutePath(local, baseDir);
    struct stat info{};
    if (::stat(path.c_str(), &info) == 0) {
        if (!S_ISDIR(info.st_mode)) {
            const std::size_t slash = path.rfind('/');
            return Entry{path.substr(0, slash + 1), {path.substr(slash + 1)}, {}};
        }
        std::string directory = path;
        while (directory.size() > 1 && directory.back() == '/') {
            directory.pop_back();
        }
        return listDirectory(directory, written, format);
    }
    if (isWild(path)) {
        return listGlob(path, written);
    }
    if (errno == ENOENT || errno == ENOTDIR) {
        const bool isOfShell = written.starts_with('~') || written.find('$') != written.npos;
        return notFound(written, ": no such file or directory",
                        isOfShell ? "; ~ and variables of the shell are not expanded" : "");
    }
    return errnoStatus(errno, written);
}

/// The files of one entry of dataset.path, from index `first` on.
struct Stretch {
    std::size_t first = 0;
    std::string written;  ///< the entry
    std::string fixed;    ///< Entry::fixed
    bool isSingle = false;

    /// A file's path in the form that the user wrote.
    std::string asWritten(const std::string& name) const {
        if (isWild(written)) {
            return fixed + name;
        }
        std::error_code error;
        if (fs::is_directory(fixed + name, error)) {
            return written + name;
        }
        return isSingle ? written : strCat(written, "/", name);
    }
};

/// Whether the paths differ only by symbolic links. Hard links count as separate files:
/// deduplicating stores create them, and users who create them want the rows twice.
bool isOnePath(const std::string& a, const std::string& b) {
    std::error_code failed;
    const fs::path first = fs::canonical(a, failed);
    return !failed && first == fs::canonical(b, failed) && !failed;
}

/// Gives files with equal relative paths the path as written; a file may be listed once only.
Status tellApart(std::vector<DataFile>& files, const std::vector<Stretch>& stretches) {
    std::unordered_map<std::string_view, std::size_t> uses;
    std::unordered_set<std::string_view> seen;
    std::map<std::pair<std::uint64_t, std::uint64_t>, const DataFile*> places;
    uses.reserve(files.size());
    seen.reserve(files.size());
    for (const DataFile& file : files) {
        ++uses[file.relativePath];
        if (!seen.insert(file.path).second) {
            return invalidArgument("dataset.path: ", file.path, " is named twice");
        }
        if (objects::isObjectUri(file.path)) {
            continue;
        }
        const auto [at, isNew] = places.emplace(std::pair(file.device, file.inode), &file);
        if (!isNew && isOnePath(file.path, at->second->path)) {
            return invalidArgument("dataset.path: ", file.path, " and ", at->second->path,
                                   " are one file under two names (a link): its rows would be "
                                   "read twice; leave one of them out");
        }
    }
    std::vector<std::size_t> alike;
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (uses[files[i].relativePath] > 1) {
            alike.push_back(i);
        }
    }
    for (const std::size_t i : alike) {
        const auto after =
            std::upper_bound(stretches.begin(), stretches.end(), i,
                             [](std::size_t file, const Stretch& one) { return file < one.first; });
        files[i].relativePath = std::prev(after)->asWritten(files[i].relativePath);
    }
    return okStatus();
}

/// Rejects files whose names tell two formats: each would be read as the other's.
Status checkOneFormat(const std::vector<DataFile>& files) {
    const DataFile* first = nullptr;
    for (const DataFile& file : files) {
        const std::string format = spec::formatOfName(file.path);
        first = first == nullptr && !format.empty() ? &file : first;
        const std::string known = first == nullptr ? "" : spec::formatOfName(first->path);
        if (!format.empty() && format != known) {
            return invalidArgument("dataset.path: ", first->path, " is named like ", known, " and ",
                                   file.path, " like ", format,
                                   ", but a dataset has one format: give it (dataset.format, "
                                   "--format) with a directory, or a glob such as *.",
                                   known);
        }
    }
    return okStatus();
}

}  // namespace

bool matchesGlob(std::string_view pattern, std::string_view name) {
    std::size_t p = 0, n = 0, star = std::string_view::npos, retry = 0;
    while (n < name.size()) {
        const char c = p < pattern.size() ? pattern[p] : '\0';
        const std::size_t close =
            p < pattern.size() && c == '[' ? pattern.find(']', p + 2) : std::string_view::npos;
        bool isMatch = false;
        std::size_t next = p + 1;
        if (p < pattern.size() && c == '*') {
            star = p++;
            retry = n;
            continue;
        }
        if (close != std::string_view::npos) {
            std::string_view set = pattern.substr(p + 1, close - p - 1);
            const bool isNegated = set[0] == '!' || set[0] == '^';
            set.remove_prefix(isNegated ? 1 : 0);
            for (std::size_t i = 0; i < set.size(); ++i) {
                const bool isRange = i + 2 < set.size() && set[i + 1] == '-';
                isMatch |= isRange ? set[i] <= name[n] && name[n] <= set[i + 2] : set[i] == name[n];
                i += isRange ? 2 : 0;
            }
            isMatch = isMatch != isNegated;
            next = close + 1;
        } else {
            isMatch = p < pattern.size() && (c == '?' || c == name[n]);
        }
        if (isMatch) {
            p = next;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++retry;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') {
        ++p;
    }
    return p == pattern.size();
}

Result<DataFile> statFile(const std::string& path, std::string_view written) {
    if (objects::isObjectUri(path)) {
        ASSIGN_OR_RETURN(const auto store, objects::ObjectStore::open());
        ASSIGN_OR_RETURN(objects::ObjectInfo info, store->stat(path));
        return fileOf(std::move(info));
    }
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) {
        return errno == ENOENT  ? notFound(written, ": no such file")
               : errno == ELOOP ? invalidArgument(written, ": a link that leads back to itself")
                                : errnoStatus(errno, written);
    }
    if (!S_ISREG(info.st_mode)) {
        return invalidArgument(written, ": not a regular file");
    }
    DataFile file;
    file.path = path;
    setIdentity(info, file);
    return file;
}

Result<std::vector<DataFile>> listFiles(const std::vector<std::string>& paths,
                                        const std::string& baseDir, std::string_view format) {
    std::vector<DataFile> files;
    std::vector<Stretch> stretches;
    for (const std::string& written : paths) {
        ASSIGN_OR_RETURN(Entry entry, listEntry(written, baseDir, format));
        files.reserve(files.size() + entry.names.size());
        stretches.push_back({files.size(), written, entry.fixed, entry.names.size() == 1});
        for (std::size_t n = 0; n < entry.names.size(); ++n) {
            const std::string& name = entry.names[n];
            DataFile file;
            if (!entry.objects.empty()) {
                file = std::move(entry.objects[n]);
            } else {
                ASSIGN_OR_RETURN(file,
                                 statFile(entry.fixed + name,
                                          entry.names.size() == 1 ? written : entry.fixed + name));
            }
            file.relativePath = name;
            files.push_back(std::move(file));
        }
    }
    RETURN_IF_ERROR(tellApart(files, stretches));
    RETURN_IF_ERROR(checkOneFormat(files));
    if (files.empty()) {
        return invalidArgument("dataset.path: names no file; give a file, directory or glob");
    }
    return files;
}

}  // namespace millrace::files
