#include "tests/support/range_server.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "backend/core/thread.h"

namespace millrace::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPageKeys = 1000;

std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ec ==
                std::errc()) {
            out += static_cast<char>(value);
            i += 2;
        } else {
            out += text[i] == '+' ? ' ' : text[i];
        }
    }
    return out;
}

std::string timeText(std::time_t time, const char* format) {
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    char text[64];
    return {text, std::strftime(text, sizeof text, format, &parts)};
}

bool sendAll(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
        if (n <= 0) {
            return false;
        }
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

bool sendError(int fd, int status, std::string_view code) {
    const std::string body = strCat("<?xml version=\"1.0\"?><Error><Code>", code,
                                    "</Code><Message>", code, "</Message></Error>");
    return sendAll(fd, strCat("HTTP/1.1 ", status, " ", code,
                              "\r\nContent-Type: application/xml\r\nContent-Length: ", body.size(),
                              "\r\n\r\n", body));
}

bool isSignedWith(const std::map<std::string, std::string>& headers, const std::string& key) {
    const auto signature = headers.find("authorization");
    return signature != headers.end() &&
           signature->second.find(strCat("Credential=", key, "/")) != std::string::npos;
}

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    }
    return out;
}

std::string etagOf(const struct stat& info) {
    return strCat("\"", info.st_size, "-", info.st_mtim.tv_sec, "-", info.st_mtim.tv_nsec, "\"");
}

}  // namespace

Result<std::unique_ptr<RangeServer>> RangeServer::start(std::string root, int port) {
    ::signal(SIGPIPE, SIG_IGN);  // sendfile() has no flag to suppress it
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int yes = 1;
    ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    socklen_t size = sizeof address;
    if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener.get(), 256) != 0 ||
        ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return errnoStatus(errno, "range server");
    }
    return std::unique_ptr<RangeServer>(
        new RangeServer(std::move(root), std::move(listener), ntohs(address.sin_port)));
}

RangeServer::RangeServer(std::string root, UniqueFd listener, int port)
    : root_(std::move(root)), port_(port), listener_(std::move(listener)) {
    acceptor_ = startThread("range-accept", [this](std::stop_token) { accept(); });
}

RangeServer::~RangeServer() {
    vanish();
    acceptor_.join();
    std::vector<std::jthread> threads;
    {
        MutexLock lock(mutex_);
        threads.swap(threads_);
    }
}

void RangeServer::setFaults(const Faults& faults) {
    MutexLock lock(mutex_);
    faults_ = faults;
}

void RangeServer::vanish() {
    MutexLock lock(mutex_);
    isEnded_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    for (const auto& [fd, isOpen] : open_) {
        ::shutdown(fd, SHUT_RDWR);
    }
    changed_.notifyAll();
}

void RangeServer::pause(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    MutexLock lock(mutex_);
    while (!isEnded_) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            end - std::chrono::steady_clock::now());
        if (left.count() <= 0 || !changed_.waitFor(mutex_, left)) {
            return;
        }
    }
}

void RangeServer::increase(std::atomic<std::int64_t>& counter, std::int64_t by) {
    counter += by;
    MutexLock lock(mutex_);
    changed_.notifyAll();
}

void RangeServer::waitUntil(const std::atomic<std::int64_t>& counter, std::int64_t count) {
    MutexLock lock(mutex_);
    while (counter < count) {
        changed_.wait(mutex_);
    }
}

std::string RangeServer::lastIfMatch() const {
    MutexLock lock(mutex_);
    return lastIfMatch_;
}

void RangeServer::waitForGets(std::int64_t count) {
    waitUntil(gets_, count);
}

void RangeServer::waitForConnections(std::int64_t count) {
    waitUntil(connections_, count);
}

void RangeServer::accept() {
    int listener = 0;
    {
        MutexLock lock(mutex_);
        listener = listener_.get();
    }
    for (;;) {
        const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        increase(connections_, fd >= 0 ? 1 : 0);
        MutexLock lock(mutex_);
        if (isEnded_ || fd < 0) {
            if (fd >= 0) {
                ::close(fd);
            }
            listener_.reset();
            return;
        }
        const int yes = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        open_[fd] = true;
        threads_.push_back(startThread("range-serve", [this, fd](std::stop_token) { serve(fd); }));
    }
}

void RangeServer::serve(int fd) {
    std::string buffer;
    bool isAlive = true;
    while (isAlive) {
        const std::size_t end = buffer.find("\r\n\r\n");
        if (end == std::string::npos) {
            char block[4096];
            const ssize_t n = ::recv(fd, block, sizeof block, 0);
            if (n <= 0 || buffer.size() > 65536) {
                break;
            }
            buffer.append(block, static_cast<std::size_t>(n));
            continue;
        }
        Request request;
        const std::size_t line = buffer.find("\r\n");
        const std::size_t space = buffer.find(' ');
        std::string target = buffer.substr(space + 1, buffer.find(' ', space + 1) - space - 1);
        request.method = buffer.substr(0, space);
        const std::size_t mark = target.find('?');
        request.path = decoded(target.substr(0, mark));
        for (std::size_t at = mark; at != std::string::npos;) {
            const std::size_t next = target.find('&', at + 1);
            const std::string pair = target.substr(at + 1, next - at - 1);
            const std::size_t equals = pair.find('=');
            request.query[decoded(pair.substr(0, equals))] =
                equals == std::string::npos ? "" : decoded(pair.substr(equals + 1));
            at = next;
        }
        for (std::size_t at = line + 2; at < end;) {
            const std::size_t stop = buffer.find("\r\n", at);
            const std::size_t colon = buffer.find(": ", at);
            std::string name = buffer.substr(at, colon - at);
            std::transform(name.begin(), name.end(), name.begin(), ::tolower);
            request.headers[name] = buffer.substr(colon + 2, stop - colon - 2);
            at = stop + 2;
        }
        buffer.erase(0, end + 4);
        isAlive = answer(fd, request);
    }
    MutexLock lock(mutex_);
    open_.erase(fd);
    ::close(fd);
}

bool RangeServer::answer(int fd, const Request& request) {
    Faults faults;
    {
        MutexLock lock(mutex_);
        faults = faults_;
    }
    if (faults.latency.count() > 0) {
        pause(faults.latency);
    }
    if (faults.deniesAll) {
        return sendError(fd, 403, "AccessDenied");
    }
    if (!faults.onlyKey.empty() && !isSignedWith(request.headers, faults.onlyKey)) {
        return sendError(fd, 400, "ExpiredToken");
    }
    if (request.path.find("..") != std::string::npos || request.path.size() < 2) {
        return sendError(fd, 400, "InvalidRequest");
    }
    const std::size_t slash = request.path.find('/', 1);
    const std::string bucket = request.path.substr(1, slash - 1);
    const std::string key = slash == std::string::npos ? "" : request.path.substr(slash + 1);
    if (!fs::is_directory(root_ + "/" + bucket)) {
        return sendError(fd, 404, "NoSuchBucket");
    }
    return key.empty() ? answerList(fd, bucket, request)
                       : answerObject(fd, root_ + request.path, request);
}

bool RangeServer::answerList(int fd, const std::string& bucket, const Request& request) {
    ++lists_;
    const auto of = [&request](const char* name) {
        const auto it = request.query.find(name);
        return it == request.query.end() ? std::string() : it->second;
    };
    const std::string prefix = of("prefix"), after = of("continuation-token");
    std::vector<std::string> keys;
    const fs::path base = root_ + "/" + bucket;
    for (const auto& entry : fs::recursive_directory_iterator(base)) {
        std::string key = entry.path().lexically_relative(base).string();
        if (entry.is_regular_file() && key.starts_with(prefix) && key > after) {
            keys.push_back(std::move(key));
        }
    }
    std::sort(keys.begin(), keys.end());
    const std::size_t count = std::min(keys.size(), kPageKeys);
    std::string body =
        strCat("<?xml version=\"1.0\"?><ListBucketResult><Name>", bucket, "</Name><Prefix>",
               escaped(prefix), "</Prefix><KeyCount>", count, "</KeyCount><IsTruncated>",
               count < keys.size() ? "true" : "false", "</IsTruncated>");
    if (count < keys.size()) {
        body +=
            strCat("<NextContinuationToken>", escaped(keys[count - 1]), "</NextContinuationToken>");
    }
    for (std::size_t i = 0; i < count; ++i) {
        struct stat info{};
        ::stat((base / keys[i]).c_str(), &info);
        body +=
            strCat("<Contents><Key>", escaped(keys[i]), "</Key><LastModified>",
                   timeText(info.st_mtim.tv_sec, "%Y-%m-%dT%H:%M:%S.000Z"), "</LastModified><ETag>",
                   etagOf(info), "</ETag><Size>", info.st_size, "</Size></Contents>");
    }
    body += "</ListBucketResult>";
    return sendAll(fd, strCat("HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n"
                              "Content-Length: ",
                              body.size(), "\r\n\r\n", body));
}

bool RangeServer::answerObject(int fd, const std::string& file, const Request& request) {
    Faults faults;
    {
        MutexLock lock(mutex_);
        faults = faults_;
    }
    struct stat info{};
    if (::stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
        return request.method == "HEAD"
                   ? sendAll(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                   : sendError(fd, 404, "NoSuchKey");
    }
    std::int64_t offset = 0, bytes = info.st_size;
    const auto range = faults.ignoresRanges ? request.headers.end() : request.headers.find("range");
    if (range != request.headers.end()) {
        std::int64_t last = 0;
        if (std::sscanf(range->second.c_str(), "bytes=%ld-%ld", &offset, &last) != 2 ||
            offset > last || offset >= info.st_size) {
            return sendError(fd, 416, "InvalidRange");
        }
        bytes = std::min<std::int64_t>(last + 1, info.st_size) - offset;
        offset += faults.shiftsRangesBy;
    }
    const auto match = request.headers.find("if-match");
    if (request.method == "GET") {
        MutexLock lock(mutex_);
        lastIfMatch_ = match == request.headers.end() ? "" : match->second;
    }
    if (match != request.headers.end() && match->second != etagOf(info) && !faults.ignoresIfMatch) {
        return sendError(fd, 412, "PreconditionFailed");
    }
    std::string head =
        strCat(range == request.headers.end() ? "HTTP/1.1 200 OK" : "HTTP/1.1 206 Partial Content",
               "\r\nAccept-Ranges: bytes\r\nContent-Type: binary/octet-stream",
               faults.hasNoEtags ? "" : strCat("\r\nETag: ", etagOf(info)),
               "\r\nLast-Modified: ", timeText(info.st_mtim.tv_sec, "%a, %d %b %Y %H:%M:%S GMT"),
               "\r\nContent-Length: ", bytes);
    if (range != request.headers.end()) {
        head += strCat("\r\nContent-Range: bytes ", offset, "-", offset + bytes - 1, "/",
                       static_cast<std::int64_t>(info.st_size));
    }
    head += strCat("\r\n", faults.headers, "\r\n");
    if (request.method == "HEAD") {
        ++heads_;
        return sendAll(fd, head);
    }
    return sendBody(fd, head, file, offset, bytes);
}

bool RangeServer::sendBody(int fd, const std::string& head, const std::string& file,
                           std::int64_t offset, std::int64_t bytes) {
    std::int64_t number = 0;
    Faults faults;
    {
        MutexLock lock(mutex_);
        number = ++gets_;
        faults = faults_;
        changed_.notifyAll();
    }
    if (faults.vanishAfter >= 0 && number > faults.vanishAfter) {
        vanish();
        return false;
    }
    if (faults.failEvery > 0 && number % faults.failEvery == 0) {
        return sendError(fd, 503, "SlowDown");
    }
    const bool isCut = faults.cutEvery > 0 && number % faults.cutEvery == 0;
    const UniqueFd source(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source.isOpen() || !sendAll(fd, head)) {
        return false;
    }
    const int now = ++getting_;
    for (int most = gettingMost_; most < now && !gettingMost_.compare_exchange_weak(most, now);) {
    }
    off_t at = offset;
    std::int64_t left = isCut ? bytes / 2 : bytes;
    const bool isStalled = faults.stallsAfter >= 0 && faults.stallsAfter < left;
    left = isStalled ? faults.stallsAfter : left;
    while (left > 0) {
        const ssize_t n = ::sendfile(fd, source.get(), &at, static_cast<std::size_t>(left));
        if (n <= 0) {
            break;
        }
        left -= n;
        bytesSent_ += n;
    }
    --getting_;
    if (isStalled) {
        stoodStill_ = number;
        char byte = 0;
        (void)::recv(fd, &byte, 1, 0);  // until the client hangs up
        return false;
    }
    return left == 0 && !isCut;
}

}  // namespace millrace::test
