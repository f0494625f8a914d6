#include "backend/ring/feed_hello.h"

#include <algorithm>

#include "backend/text/json.h"
#include "backend/text/json_bounds.h"
#include "backend/text/json_slices.h"

namespace millrace::ring {
namespace {

constexpr char kKeepName[] = "keep", kDropName[] = "drop";
constexpr char kRingKey[] = "ledger_ring";

}  // namespace

Result<FeedHello> parseHello(std::string_view line) {
    ASSIGN_OR_RETURN(const Json json, parseBounded(line, "hello", {kMaxHelloBytes}));
    FeedHello hello;
    if (const std::int64_t version = jsonInt(json, "version"); version != kHelloVersion) {
        return invalidArgument("hello: version ", version, ", this feed speaks version ",
                               kHelloVersion,
                               "; the loader and the reader's library must be of one version");
    }
    hello.attempt = jsonInt(json, "attempt", -1);
    hello.rank = static_cast<int>(std::clamp<std::int64_t>(jsonInt(json, "rank", -1), -1, 1 << 20));
    hello.worldSize =
        static_cast<int>(std::clamp<std::int64_t>(jsonInt(json, "world_size"), 0, 1 << 20));
    hello.stream = jsonString(json, "stream");
    hello.join = jsonBool(json, "join");
    const std::string last = jsonString(json, "last", kKeepName);
    if (last != kKeepName && last != kDropName) {
        return invalidArgument("hello: last '", last, "' must be ", kKeepName, " or ", kDropName);
    }
    hello.last = last == kDropName ? stream::LastStep::kDrop : stream::LastStep::kKeep;
    hello.numaNode =
        static_cast<int>(std::clamp<std::int64_t>(jsonInt(json, "numa_node", -1), -1, 1 << 20));
    hello.ledgerRing =
        static_cast<std::uint64_t>(std::max<std::int64_t>(jsonInt(json, kRingKey), 0));
    if (const Json& state = jsonMember(json, "state"); state.is_object()) {
        const std::string wrong = hello.state.emplace().read(dumpJson(state));
        if (!wrong.empty()) {
            return invalidArgument("hello: ", wrong);
        }
    } else if (!state.is_null()) {
        return invalidArgument("hello: 'state' must be an object or null");
    }
    if (const Json& next = jsonMember(json, "next"); next.is_object()) {
        const std::int64_t epoch = jsonInt(next, "epoch", -1), number = jsonInt(next, "number", -1);
        if (epoch < 0 || epoch > UINT32_MAX || number < 0) {
            return invalidArgument("hello: 'next' must hold epoch and number");
        }
        hello.next = FeedPosition{static_cast<std::uint32_t>(epoch), number};
    }
    return hello;
}

std::string helloLine(const FeedHello& hello) {
    Json json = {{"version", kHelloVersion},   {"attempt", hello.attempt},
                 {"rank", hello.rank},         {"world_size", hello.worldSize},
                 {"stream", hello.stream},     {"join", hello.join},
                 {"last", nameOf(hello.last)}, {"numa_node", hello.numaNode},
                 {"state", Json(nullptr)},     {"next", Json(nullptr)}};
    if (hello.ledgerRing != 0) {
        json[kRingKey] = hello.ledgerRing;
    }
    if (hello.next) {
        json["next"] = {{"epoch", hello.next->epoch}, {"number", hello.next->number}};
    }
    const std::string text = dumpJson(json);
    return (hello.state ? withJsonMember(text, "state", hello.state->toText()) : text) + "\n";
}

const char* nameOf(stream::LastStep last) {
    return last == stream::LastStep::kDrop ? kDropName : kKeepName;
}

}  // namespace millrace::ring
