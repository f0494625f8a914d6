#include "backend/objects/range_client.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <mutex>

#include <curl/curl.h>
#include <sys/socket.h>

#include "backend/objects/object_store.h"

namespace millrace::objects {
namespace {

/// One receive: what a connection's window holds, so that few calls bring much.
constexpr long kReceiveBytes = 512 * 1024;
/// A thread is woken when so much has come, not for each packet: with the loader on one core that
/// is 5 % of its time.
constexpr int kWakeBytes = 512 * 1024;
constexpr std::size_t kErrorTextMost = 4096;
constexpr long kPartialContent = 206, kWhole = 200, kNotThatRange = 416;

std::string utcNow() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts)};
}

/// The text of <name>...</name> in an error document, empty when it is not there.
std::string_view element(std::string_view document, std::string_view name) {
    const std::string open = strCat("<", name, ">");
    const std::size_t begin = document.find(open);
    if (begin == std::string_view::npos) {
        return {};
    }
    document.remove_prefix(begin + open.size());
    return document.substr(0, document.find('<'));
}

/// Sleeps, but not longer than until `stop`; false when it was asked to stop.
bool pause(std::chrono::milliseconds time, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    return !changed.wait_for(lock, stop, time, [&stop] { return stop.stop_requested(); });
}

}  // namespace

struct RangeClient::Place {
    std::string url, host, path;
};

struct RangeClient::Answer {
    CURLcode code = CURLE_OK;
    long status = 0;
    std::int64_t wanted = 0, bytes = 0;
    char* out = nullptr;
    bool isTooLong = false;
    std::string text;    ///< of an error, its beginning
    std::string reason;  ///< for people

    bool isWhole() const {
        return code == CURLE_OK &&
               (status == kPartialContent || status == kWhole || status == kNotThatRange);
    }
    bool isTransient() const {
        const bool isOfNetwork = code != CURLE_OK && code != CURLE_PEER_FAILED_VERIFICATION &&
                                 code != CURLE_SSL_CACERT_BADFILE &&
                                 code != CURLE_UNSUPPORTED_PROTOCOL && code != CURLE_URL_MALFORMAT;
        return !isTooLong && (isOfNetwork || status >= 500 || status == 429 || status == 408 ||
                              element(text, "Code") == "RequestTimeout");
    }
};

/// A handle of libcurl with the connection that it keeps.
class RangeClient::Connection {
 public:
    explicit Connection(const S3Settings& settings) : handle_(curl_easy_init()) {
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_PROTOCOLS_STR, "http,https");
        set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
        set(CURLOPT_PROXY, "");  // as listing does
        set(CURLOPT_PATH_AS_IS, 1L);
        set(CURLOPT_BUFFERSIZE, kReceiveBytes);
        set(CURLOPT_TCP_KEEPALIVE, 1L);
        set(CURLOPT_SOCKOPTFUNCTION, &Connection::isNewSocket);
        set(CURLOPT_SOCKOPTDATA, this);
        set(CURLOPT_USERAGENT, "millrace");
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectTime.count()));
        set(CURLOPT_LOW_SPEED_LIMIT, 1L);
        set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(kSilenceTime.count() / 1000));
        set(CURLOPT_WRITEFUNCTION, &Connection::takeBody);
        set(CURLOPT_NOPROGRESS, 0L);
        set(CURLOPT_XFERINFOFUNCTION, &Connection::isStopped);
        set(CURLOPT_ERRORBUFFER, error_);
        if (!settings.certificates.empty()) {
            set(CURLOPT_CAINFO, settings.certificates.c_str());
        }
    }
    ~Connection() { curl_easy_cleanup(handle_); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void get(const std::string& url, const std::vector<std::string>& headers,
             const std::stop_token& stop, Answer& answer) {
        curl_slist* list = nullptr;
        for (const std::string& header : headers) {
            list = curl_slist_append(list, header.c_str());
        }
        answer_ = &answer;
        error_[0] = '\0';
        set(CURLOPT_URL, url.c_str());
        set(CURLOPT_HTTPHEADER, list);
        set(CURLOPT_WRITEDATA, this);
        set(CURLOPT_XFERINFODATA, &stop);
        answer.code = curl_easy_perform(handle_);
        curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &answer.status);
        set(CURLOPT_HTTPHEADER, nullptr);
        curl_slist_free_all(list);
        answer.reason = answer.code == CURLE_OK ? strCat("HTTP status ", answer.status)
                        : error_[0] != '\0'     ? std::string(error_)
                                                : curl_easy_strerror(answer.code);
        if (const auto code = element(answer.text, "Code"); !code.empty()) {
            answer.reason = strCat(code, ", HTTP status ", answer.status);
        }
    }

 private:
    template <class T>
    void set(CURLoption option, T value) {
        curl_easy_setopt(handle_, option, value);
    }

    static std::size_t takeBody(char* data, std::size_t size, std::size_t count, void* self) {
        return static_cast<Connection*>(self)->take(data, size * count);
    }
    std::size_t take(const char* data, std::size_t bytes) {
        Answer& answer = *answer_;
        curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &answer.status);
        if (answer.status != kPartialContent && answer.status != kWhole) {
            answer.text.append(data, std::min(bytes, kErrorTextMost - answer.text.size()));
            return bytes;
        }
        if (answer.bytes + static_cast<std::int64_t>(bytes) > answer.wanted) {
            answer.isTooLong = true;
            return 0;  // ends the transfer
        }
        std::memcpy(answer.out + answer.bytes, data, bytes);
        answer.bytes += static_cast<std::int64_t>(bytes);
        wakeFor(answer.wanted - answer.bytes);
        return bytes;
    }
    static int isNewSocket(void* self, curl_socket_t socket, curlsocktype) {
        auto& connection = *static_cast<Connection*>(self);
        connection.socket_ = socket;
        connection.wakeBytes_ = 1;
        return CURL_SOCKOPT_OK;
    }
    /// Only where more than that is still to come: what TLS has decrypted already, 16 kB at most,
    /// is no longer in the socket.
    void wakeFor(std::int64_t bytesLeft) {
        const int bytes = bytesLeft >= 2 * kWakeBytes ? kWakeBytes : 1;
        if (bytes != wakeBytes_) {
            (void)::setsockopt(socket_, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
            wakeBytes_ = bytes;
        }
    }
    static int isStopped(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
        return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
    }

    CURL* const handle_;
    Answer* answer_ = nullptr;
    curl_socket_t socket_ = CURL_SOCKET_BAD;
    int wakeBytes_ = 1;  ///< of the socket
    char error_[CURL_ERROR_SIZE] = {};
};

/// A connection of its own for a while.
class RangeClient::Lease {
 public:
    explicit Lease(const RangeClient& client) : client_(client) {
        {
            MutexLock lock(client.mutex_);
            if (!client.idle_.empty()) {
                connection_ = std::move(client.idle_.back());
                client.idle_.pop_back();
            }
        }
        if (connection_ == nullptr) {
            connection_ = std::make_unique<Connection>(client.settings_);
        }
    }
    ~Lease() {
        MutexLock lock(client_.mutex_);
        if (client_.idle_.size() < kIdleMost) {
            client_.idle_.push_back(std::move(connection_));
        }
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Connection& operator*() const { return *connection_; }

 private:
    const RangeClient& client_;
    std::unique_ptr<Connection> connection_;
};

RangeClient::RangeClient(S3Settings settings, StoreErrors errors, CredentialsSource credentials)
    : settings_(std::move(settings)),
      errors_(std::move(errors)),
      credentials_(std::move(credentials)) {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    (void)started;  // what is missing is said by the first request
}

RangeClient::~RangeClient() = default;

RangeClient::Place RangeClient::placeOf(const std::string& bucket, const std::string& key) const {
    Place place;
    place.path = encodedPath(strCat("/", key));
    if (settings_.endpoint.empty()) {
        const bool isChina = settings_.region.starts_with("cn-");
        place.host =
            strCat("s3.", settings_.region, isChina ? ".amazonaws.com.cn" : ".amazonaws.com");
    } else {
        place.host = settings_.endpoint;
    }
    // Certificates of "*.s3..." do not cover a bucket's name with dots.
    if (settings_.endpoint.empty() && bucket.find('.') == std::string::npos) {
        place.host = strCat(bucket, ".", place.host);
    } else {
        place.path = strCat("/", encodedPath(bucket), place.path);
    }
    place.url = strCat(settings_.scheme, "://", place.host, place.path);
    return place;
}

RangeClient::Answer RangeClient::get(Connection& connection, const Place& place,
                                     std::int64_t offset, std::int64_t bytes, char* out,
                                     const std::stop_token& stop) const {
    Answer answer;
    answer.wanted = bytes;
    answer.out = out;
    const GetRequest request{place.host, place.path,
                             strCat("bytes=", offset, "-", offset + bytes - 1)};
    connection.get(place.url, signedHeaders(request, credentials_(), settings_.region, utcNow()),
                   stop, answer);
    if (answer.status == kWhole && offset > 0) {
        answer.isTooLong = true;  // the whole object, from its first byte
        answer.bytes = 0;
        answer.code = CURLE_WRITE_ERROR;
    }
    return answer;
}

Status RangeClient::statusOf(const Answer& answer, const std::string& uri) const {
    if (answer.isTooLong) {
        return errors_.failed(uri, "it does not answer ranges");
    }
    if (answer.code != CURLE_OK) {
        return errors_.doesNotAnswer(uri, answer.reason);
    }
    switch (answer.status) {
        case 404:
            return element(answer.text, "Code") == "NoSuchBucket" ? errors_.noSuchBucket(uri)
                                                                  : errors_.noSuchObject(uri);
        case 401:
        case 403:
            return errors_.denied(uri, answer.reason);
        default:
            return errors_.failed(uri, answer.reason);
    }
}

Result<std::int64_t> RangeClient::read(const std::string& bucket, const std::string& key,
                                       std::int64_t offset, std::int64_t bytes, void* out,
                                       const std::stop_token& stop) const {
    const Place place = placeOf(bucket, key);
    const Lease connection(*this);
    std::int64_t read = 0;
    for (int failures = 0;;) {
        const Answer answer = get(*connection, place, offset + read, bytes - read,
                                  static_cast<char*>(out) + read, stop);
        read += answer.bytes;
        if (answer.isWhole()) {
            return read;
        }
        failures = answer.bytes > 0 ? 0 : failures;  // each byte is a beginning
        const std::string uri = strCat(kObjectScheme, bucket, "/", key);
        if (stop.stop_requested()) {
            return cancelled(uri, ": no longer needed");
        }
        if (!answer.isTransient() || ++failures >= settings_.attempts) {
            return statusOf(answer, uri);
        }
        if (!pause(backOff(failures - 1), stop)) {
            return cancelled(uri, ": no longer needed");
        }
    }
}

}  // namespace millrace::objects
