#include "backend/objects/range_client.h"

#include <algorithm>
#include <ctime>
#include <optional>

#include <curl/curl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "backend/core/stop_wait.h"
#include "backend/objects/range_answer.h"
#include "backend/objects/s3_signature.h"

namespace millrace::objects {
namespace {

/// Bytes per receive: the window of a connection, so that few calls are needed.
constexpr long kReceiveBytes = 512 * 1024;
/// A thread is woken for this many bytes, not for each packet: with the loader on one core, that
/// would be 5 % of its time.
constexpr int kWakeBytes = 512 * 1024;
/// After this time it is woken for any amount.
constexpr std::chrono::milliseconds kWakeTime{900};
/// An answer that broke off with fewer bytes is not progress: it counts as a failed attempt.
constexpr std::int64_t kProgressBytes = 64 * 1024;

std::string utcNow() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts)};
}

/// Whether libcurl's code means a network failure.
bool isOfNetwork(int code) {
    return code != CURLE_OK && code != CURLE_PEER_FAILED_VERIFICATION &&
           code != CURLE_SSL_CACERT_BADFILE && code != CURLE_UNSUPPORTED_PROTOCOL &&
           code != CURLE_URL_MALFORMAT;
}

/// A weak ETag (RFC 9110, 8.8.3) never matches in If-Match: it is compared in the answer instead.
bool isStrong(std::string_view etag) {
    return !etag.empty() && !etag.starts_with("W/");
}

}  // namespace

struct RangeClient::Place {
    std::string url, host, path;
};

/// A libcurl handle with its persistent connection.
class RangeClient::Connection {
 public:
    Connection(const S3Settings& settings, Now now)
        : handle_(curl_easy_init()), stall_(settings.stall), now_(std::move(now)) {
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_PROTOCOLS_STR, "http,https");
        set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
        set(CURLOPT_PROXY, "");  // as for listing
        set(CURLOPT_PATH_AS_IS, 1L);
        set(CURLOPT_BUFFERSIZE, kReceiveBytes);
        set(CURLOPT_TCP_KEEPALIVE, 1L);
        set(CURLOPT_SOCKOPTFUNCTION, &Connection::isNewSocket);
        set(CURLOPT_SOCKOPTDATA, this);
        set(CURLOPT_USERAGENT, "millrace");
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectTime.count()));
        set(CURLOPT_WRITEFUNCTION, &Connection::takeBody);
        set(CURLOPT_WRITEDATA, this);
        set(CURLOPT_HEADERFUNCTION, &Connection::takeHeader);
        set(CURLOPT_HEADERDATA, this);
        set(CURLOPT_NOPROGRESS, 0L);
        set(CURLOPT_XFERINFOFUNCTION, &Connection::isGivenUp);
        set(CURLOPT_XFERINFODATA, this);
        set(CURLOPT_ERRORBUFFER, error_);
        if (!settings.certificates.empty()) {
            set(CURLOPT_CAINFO, settings.certificates.c_str());
        }
    }
    ~Connection() { curl_easy_cleanup(handle_); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void get(const std::string& url, const std::vector<std::string>& headers,
             const std::stop_token& stop, RangeAnswer& answer) {
        curl_slist* list = nullptr;
        for (const std::string& header : headers) {
            list = curl_slist_append(list, header.c_str());
        }
        answer_ = &answer;
        stop_ = &stop;
        watch_.emplace(stall_, now_());
        bytesSeen_ = 0;
        lastLookBytes_ = -1;
        error_[0] = '\0';
        set(CURLOPT_URL, url.c_str());
        set(CURLOPT_HTTPHEADER, list);
        const CURLcode code = curl_easy_perform(handle_);
        answer.code = code;
        curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &answer.status);
        set(CURLOPT_HTTPHEADER, nullptr);
        curl_slist_free_all(list);
        answer.reason = code == CURLE_OK    ? strCat("HTTP status ", answer.status)
                        : error_[0] != '\0' ? std::string(error_)
                                            : curl_easy_strerror(code);
        if (const auto word = element(answer.text, "Code"); !word.empty()) {
            answer.reason = strCat(word, ", HTTP status ", answer.status);
        }
        if (answer.fault == RangeAnswer::Fault::kStalled) {
            answer.reason =
                strCat("less than ", kLeastRate, " bytes/s for ",
                       static_cast<double>(stall_.count()) / 1000, " s: ", kStallVariable);
        }
        answer.finish();
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
        RangeAnswer& answer = *answer_;
        curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &answer.status);
        if (!answer.add({data, bytes})) {
            return 0;  // aborts the transfer
        }
        wakeFor(answer.wanted - answer.bytes);
        return bytes;
    }
    static std::size_t takeHeader(char* line, std::size_t size, std::size_t count, void* self) {
        static_cast<Connection*>(self)->answer_->addHeader({line, size * count});
        return size * count;
    }
    static int isNewSocket(void* self, curl_socket_t socket, curlsocktype) {
        auto& connection = *static_cast<Connection*>(self);
        connection.socket_ = socket;
        connection.wakeBytes_ = 1;
        return CURL_SOCKOPT_OK;
    }
    /// Uses the large size only if more than that is still to come: up to 16 kB that TLS has
    /// already decrypted are no longer in the socket.
    void wakeFor(std::int64_t bytesLeft) {
        const int bytes = bytesLeft >= 2 * kWakeBytes ? kWakeBytes : 1;
        if (bytes != wakeBytes_) {
            (void)::setsockopt(socket_, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
            wakeBytes_ = bytes;
        }
    }
    /// Once per answer: before it gives up, takes the bytes that were too few for a wake-up. They
    /// would be requested again otherwise.
    bool isMoreToTake() {
        int bytes = 0;
        if (::ioctl(socket_, FIONREAD, &bytes) != 0 || bytes == 0) {
            return false;
        }
        wakeFor(0);
        lastLookBytes_ = lastLookBytes_ < 0 ? answer_->bytes : lastLookBytes_;
        return lastLookBytes_ == answer_->bytes;
    }
    /// Called at least once per second.
    static int isGivenUp(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
        return static_cast<Connection*>(self)->givesUp() ? 1 : 0;
    }
    bool givesUp() {
        const StallWatch::Time now = now_();
        if (answer_->bytes > bytesSeen_ || now - seenAt_ < kWakeTime) {
            seenAt_ = answer_->bytes > bytesSeen_ ? now : seenAt_;
            bytesSeen_ = answer_->bytes;
        } else {
            wakeFor(0);  // on a slow network even these bytes take long: takes what has arrived
        }
        if (watch_->isStalled(answer_->bytes, now) && !isMoreToTake()) {
            answer_->fault = RangeAnswer::Fault::kStalled;
        }
        return answer_->fault == RangeAnswer::Fault::kStalled || stop_->stop_requested();
    }

    CURL* const handle_;
    const std::chrono::milliseconds stall_;
    const Now now_;
    RangeAnswer* answer_ = nullptr;
    const std::stop_token* stop_ = nullptr;
    std::optional<StallWatch> watch_;
    std::int64_t bytesSeen_ = 0;  ///< bytes of the answer at seenAt_
    StallWatch::Time seenAt_;
    std::int64_t lastLookBytes_ = -1;  ///< bytes of the answer when it first seemed stalled
    curl_socket_t socket_ = CURL_SOCKET_BAD;
    int wakeBytes_ = 1;  ///< current setting of the socket
    char error_[CURL_ERROR_SIZE] = {};
};

/// Borrows a connection.
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
            connection_ = std::make_unique<Connection>(client.settings_, client.now_);
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

RangeClient::RangeClient(S3Settings settings, StoreErrors errors,
                         std::shared_ptr<CredentialsSource> credentials, Now now)
    : settings_(std::move(settings)),
      errors_(std::move(errors)),
      credentials_(std::move(credentials)),
      now_(std::move(now)) {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    (void)started;  // the first request reports an error
}

RangeClient::~RangeClient() = default;

RangeClient::Place RangeClient::placeOf(const Object& object) const {
    const auto& [bucket, key] = object;
    Place place;
    place.path = encodedPath(strCat("/", key));
    if (settings_.endpoint.empty()) {
        const bool isChina = settings_.region.starts_with("cn-");
        place.host =
            strCat("s3.", settings_.region, isChina ? ".amazonaws.com.cn" : ".amazonaws.com");
    } else {
        place.host = settings_.endpoint;
    }
    // Certificates for "*.s3..." do not cover bucket names with dots.
    if (settings_.endpoint.empty() && bucket.find('.') == std::string::npos) {
        place.host = strCat(bucket, ".", place.host);
    } else {
        place.path = strCat("/", encodedPath(bucket), place.path);
    }
    place.url = strCat(settings_.scheme, "://", place.host, place.path);
    return place;
}

RangeAnswer RangeClient::get(Connection& connection, const Place& place, const ObjectRange& range,
                             char* out, const std::stop_token& stop) const {
    const Credentials credentials = credentials_->current();
    RangeAnswer answer = getAs(credentials, connection, place, range, out, stop);
    if (answer.isRefusal()) {
        if (const auto others = credentials_->after(credentials, stop)) {
            answer = getAs(*others, connection, place, range, out, stop);
        }
    }
    return answer;
}

RangeAnswer RangeClient::getAs(const Credentials& credentials, Connection& connection,
                               const Place& place, const ObjectRange& range, char* out,
                               const std::stop_token& stop) const {
    RangeAnswer answer;
    answer.offset = range.offset;
    answer.wanted = range.bytes;
    answer.ifMatch = range.etag;
    answer.out = out;
    GetRequest request{place.host, place.path,
                       strCat("bytes=", range.offset, "-", range.offset + range.bytes - 1),
                       isStrong(range.etag) ? range.etag : "",
                       // A part has no checksum.
                       settings_.wantsChecksums && range.offset == 0};
    connection.get(place.url, signedHeaders(request, credentials, settings_.region, utcNow()), stop,
                   answer);
    return answer;
}

Status RangeClient::statusOf(const RangeAnswer& answer, const std::string& uri) const {
    using Fault = RangeAnswer::Fault;
    if (answer.fault == Fault::kTooLong) {
        return errors_.failed(uri, "it does not answer ranges");
    }
    if (answer.fault == Fault::kOtherRange) {
        return errors_.failed(uri, answer.reason);
    }
    if (answer.fault == Fault::kChanged) {
        return errors_.changed(uri, answer.ifMatch, answer.etag);
    }
    if (answer.code != CURLE_OK) {
        return errors_.doesNotAnswer(uri, answer.reason);
    }
    if (answer.status == 404) {
        return element(answer.text, "Code") == "NoSuchBucket" ? errors_.noSuchBucket(uri)
                                                              : errors_.noSuchObject(uri);
    }
    return answer.isRefusal() ? errors_.denied(uri, answer.reason)
                              : errors_.failed(uri, answer.reason);
}

Result<ObjectBytes> RangeClient::read(const Object& object, const ObjectRange& range, void* out,
                                      const std::stop_token& stop) const {
    const Place place = placeOf(object);
    const Lease connection(*this);
    char* const begin = static_cast<char*>(out);
    ObjectBytes read{0, range.etag};
    std::optional<StoredChecksum> checksum;
    for (int failures = 0;;) {
        const RangeAnswer answer = get(
            *connection, place, {range.offset + read.count, range.bytes - read.count, read.etag},
            begin + read.count, stop);
        read.count += answer.bytes;
        // All answers must have the same version.
        read.etag = read.etag.empty() && answer.bytes > 0 ? answer.etag : read.etag;
        checksum = answer.checksum.has_value() ? answer.checksum : checksum;
        bool isDamaged = false;
        if (answer.isWhole()) {
            const bool isAll =
                range.offset == 0 && read.count > 0 && answer.objectBytes == read.count;
            isDamaged =
                isAll && checksum.has_value() &&
                checksumOf(checksum->algorithm, {begin, static_cast<std::size_t>(read.count)}) !=
                    checksum->value;
            if (!isDamaged) {
                return read;
            }
            read.count = 0;
        } else if (answer.bytes >= kProgressBytes) {
            failures = 0;
        }
        const std::string uri = strCat(kObjectScheme, object.bucket, "/", object.key);
        if (stop.stop_requested()) {
            return cancelled(uri, ": no longer needed");
        }
        const bool isFinal = !isDamaged && !answer.isTransient(isOfNetwork(answer.code));
        if (isFinal || ++failures >= settings_.attempts) {
            return isDamaged ? errors_.damaged(uri, checksum->algorithm, checksum->value)
                             : statusOf(answer, uri);
        }
        if (waitForStop(stop, backOff(failures - 1))) {
            return cancelled(uri, ": no longer needed");
        }
    }
}

}  // namespace millrace::objects
