#pragma once
// Reads the required members of a JSON object; keeps the first wrong one as the error.
//
// Threads: a value on the stack. Failure: status() after the reads; until then reads return
// defaults.
#include <cstdint>
#include <string>

#include "backend/core/status.h"
#include "backend/stream/state/segment_record.h"
#include "backend/text/json.h"

namespace millrace::stream {

class JsonRead {
 public:
    explicit JsonRead(const Json& object) : object_(object) {
        if (!object.is_object()) {
            fail("is not an object");
        }
    }

    /// An integer from 0 to kMaxCount.
    std::int64_t count(const char* key) {
        const Json& value = jsonMember(object_, key);
        if (!value.is_number_integer() || value < 0 || value > kMaxCount) {
            fail("'", key, "' must be a count");
            return 0;
        }
        return value.get<std::int64_t>();
    }
    std::string text(const char* key, std::size_t maxBytes = 4096) {
        const Json& value = jsonMember(object_, key);
        if (!value.is_string() || value.get_ref<const std::string&>().size() > maxBytes) {
            fail("'", key, "' must be text of at most ", maxBytes, " bytes");
            return "";
        }
        return value.get<std::string>();
    }
    /// 32 lower-case hex digits.
    std::string hash(const char* key) {
        std::string value = text(key);
        if (value.size() != 32 || value.find_first_not_of("0123456789abcdef") != value.npos) {
            fail("'", key, "' must be a hash of 32 hex digits");
        }
        return value;
    }
    const Json& list(const char* key) {
        static const Json kEmpty = Json::array();
        const Json& value = jsonMember(object_, key);
        if (!value.is_array()) {
            fail("'", key, "' must be a list");
            return kEmpty;
        }
        return value;
    }
    template <class... P>
    void fail(const P&... parts) {
        if (status_.ok()) {
            status_ = invalidArgument(parts...);
        }
    }
    const Status& status() const { return status_; }

 private:
    const Json& object_;
    Status status_;
};

}  // namespace millrace::stream
