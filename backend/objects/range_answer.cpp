#include "backend/objects/range_answer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

#include "backend/core/status.h"
#include "backend/objects/s3_settings.h"

namespace millrace::objects {
namespace {

constexpr std::size_t kErrorTextMost = 4096;

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

bool isNamed(std::string_view name, std::string_view lower) {
    return std::equal(name.begin(), name.end(), lower.begin(), lower.end(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == b;
    });
}

/// Returns -1 if the text is not a number.
std::int64_t numberOf(std::string_view text) {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

}  // namespace

std::string_view element(std::string_view document, std::string_view name) {
    const std::string open = strCat("<", name, ">");
    const std::size_t begin = document.find(open);
    if (begin == std::string_view::npos) {
        return {};
    }
    document.remove_prefix(begin + open.size());
    return document.substr(0, document.find('<'));
}

StallWatch::StallWatch(std::chrono::milliseconds limit, Time now)
    : limit_(limit),
      leastBytes_(std::max<std::int64_t>(kLeastRate * limit.count() / 1000, 1)),
      since_(now) {}

bool StallWatch::isStalled(std::int64_t bytes, Time now) {
    if (bytes - bytes_ >= leastBytes_) {
        bytes_ = bytes;
        since_ = now;
    }
    return now - since_ >= limit_;
}

void RangeAnswer::addHeader(std::string_view line) {
    if (line.starts_with("HTTP/")) {
        etag.clear();
        checksum.reset();
        first_ = last_ = objectBytes = -1;
        return;
    }
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trimmed(line.substr(std::min(colon + 1, line.size())));
    if (isNamed(name, "etag")) {
        etag = value;
    } else if (isNamed(name, "content-range") && value.starts_with("bytes ")) {
        // "bytes FIRST-LAST/TOTAL", RFC 9110, 14.4; the total may be "*".
        const std::size_t dash = std::min(value.find('-'), value.size());
        const std::size_t slash = std::min(value.find('/'), value.size());
        first_ = numberOf(trimmed(value.substr(6, dash - std::min<std::size_t>(dash, 6))));
        last_ = slash > dash ? numberOf(value.substr(dash + 1, slash - dash - 1)) : -1;
        objectBytes = numberOf(value.substr(std::min(slash + 1, value.size())));
    } else if (auto stored = storedChecksum(name, value)) {
        checksum = checksum.has_value() ? checksum : stored;
    }
}

RangeAnswer::Fault RangeAnswer::faultOfHead() const {
    if (!ifMatch.empty() && !etag.empty() && etag != ifMatch) {
        return Fault::kChanged;  // the store does not support If-Match
    }
    if (status == kWhole) {
        return offset > 0 ? Fault::kTooLong : Fault::kNone;
    }
    const std::int64_t asked = offset + wanted - 1;
    const bool isShort = last_ < asked && objectBytes >= 0 && last_ + 1 != objectBytes;
    return first_ != offset || last_ < first_ || last_ > asked || isShort ? Fault::kOtherRange
                                                                          : Fault::kNone;
}

bool RangeAnswer::add(std::string_view data) {
    if (!isTaken()) {
        text.append(data.substr(0, kErrorTextMost - std::min(kErrorTextMost, text.size())));
        return true;
    }
    const std::int64_t most = status == kPartialContent ? last_ - first_ + 1 : wanted;
    fault = bytes == 0 ? faultOfHead() : fault;
    if (fault == Fault::kNone && bytes + static_cast<std::int64_t>(data.size()) > most) {
        fault = status == kWhole ? Fault::kTooLong : Fault::kOtherRange;
    }
    if (fault != Fault::kNone) {
        if (fault == Fault::kTooLong || fault == Fault::kOtherRange) {
            bytes = 0;  // discards the wrong bytes
        }
        return false;
    }
    std::memcpy(out + bytes, data.data(), data.size());
    bytes += static_cast<std::int64_t>(data.size());
    return true;
}

void RangeAnswer::finish() {
    if (isTaken() && bytes == 0 && fault == Fault::kNone) {
        fault = faultOfHead();
    }
    if (status == kChanged && !ifMatch.empty()) {
        fault = Fault::kChanged;
    }
    if (status == kWhole && fault == Fault::kNone && code == 0) {
        objectBytes = bytes;
    }
    if (fault == Fault::kOtherRange) {
        reason = strCat("it sends the bytes ", first_, " to ", last_, " where ", offset, " to ",
                        offset + wanted - 1, " were asked for");
    }
}

bool RangeAnswer::isTransient(bool isOfNetwork) const {
    if (fault != Fault::kNone) {
        return fault == Fault::kStalled;
    }
    return isOfNetwork || status >= 500 || status == 429 || status == 408 ||
           element(text, "Code") == "RequestTimeout";
}

bool RangeAnswer::isWhole() const {
    return code == 0 && fault == Fault::kNone && (isTaken() || status == kNotThatRange);
}

bool RangeAnswer::isRefusal() const {
    if (code != 0 || fault != Fault::kNone) {
        return false;
    }
    const std::string_view word = element(text, "Code");
    return status == 401 || status == 403 || word == "ExpiredToken" || word == "InvalidToken" ||
           word == "TokenRefreshRequired";
}

}  // namespace millrace::objects
