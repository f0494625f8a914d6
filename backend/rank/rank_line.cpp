#include "backend/rank/rank_line.h"

#include <utility>

#include "backend/text/json_bounds.h"

namespace millrace::rank {
namespace {

/// Reads the members of a line; keeps the first error.
class LineRead {
 public:
    explicit LineRead(const Json& json) : json_(json) {}

    std::int64_t integer(const char* key) {
        const Json& value = jsonMember(json_, key);
        const bool fits = value.is_number_integer() &&
                          (!value.is_number_unsigned() || value.get<std::uint64_t>() <= kMax);
        return fits ? value.get<std::int64_t>() : (fail(key, "an integer"), 0);
    }
    std::int64_t integerOr(const char* key, std::int64_t fallback) {
        return jsonMember(json_, key).is_null() ? fallback : integer(key);
    }
    std::string text(const char* key) {
        const Json& value = jsonMember(json_, key);
        return value.is_string() ? value.get<std::string>() : (fail(key, "text"), std::string());
    }
    std::string textOr(const char* key, std::string_view fallback) {
        return jsonMember(json_, key).is_null() ? std::string(fallback) : text(key);
    }
    /// A past time; 0 if missing.
    double ms(const char* key) {
        const double value = realOr(key, 0);
        // About 30,000 years: sums of times stay exact in a double.
        constexpr double kMostMs = 1e15;
        return value >= 0 && value <= kMostMs ? value : (fail(key, "a number from 0"), 0.0);
    }
    double realOr(const char* key, double fallback) {
        const Json& value = jsonMember(json_, key);
        if (value.is_null()) {
            return fallback;
        }
        const Result<double> real = jsonDouble(value);
        return real.ok() ? *real : (fail(key, "a number"), 0.0);
    }
    Values values(const char* key) {
        Values out;
        for (const auto& [name, value] : members(key).items()) {
            const Result<double> real = jsonDouble(value);
            if (!real.ok()) {
                fail(key, "an object of numbers");
                break;
            }
            out[name] = *real;
        }
        return out;
    }
    std::map<std::string, std::string> texts(const char* key) {
        std::map<std::string, std::string> out;
        for (const auto& [name, value] : members(key).items()) {
            if (!value.is_string()) {
                fail(key, "an object of texts");
                break;
            }
            out[name] = value.get<std::string>();
        }
        return out;
    }
    std::string fileName() {
        constexpr std::size_t kMostNameBytes = 255;
        std::string name = text("name");
        const bool isName = !name.empty() && name.size() <= kMostNameBytes && name[0] != '.' &&
                            name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
        if (!isName) {
            fail("name", "a file's name without directories");
        }
        return name;
    }
    const Json& object(const char* key) {
        const Json& value = jsonMember(json_, key);
        if (!value.is_object()) {
            fail(key, "an object");
        }
        return value;
    }
    const Status& status() const { return status_; }

 private:
    // Far from int64's end, so that adding to a value cannot overflow.
    static constexpr std::uint64_t kMax = std::uint64_t{1} << 62;

    const Json& members(const char* key) {
        static const Json kNone = Json::object();
        const Json& value = jsonMember(json_, key);
        return value.is_null()     ? kNone
               : value.is_object() ? value
                                   : (fail(key, "an object"), kNone);
    }
    void fail(const char* key, const char* what) {
        if (status_.ok()) {
            status_ = invalidArgument("rank line: '", key, "' must be ", what);
        }
    }

    const Json& json_;
    Status status_;
};

Json valuesJson(const Values& values) {
    Json out = Json::object();
    for (const auto& [name, value] : values) {
        out[name] = jsonNumber(value);
    }
    return out;
}

struct ToJson {
    Json operator()(const Hello& b) const {
        return {{"run", b.sender.run},   {"attempt", b.sender.attempt},
                {"role", b.sender.role}, {"rank", b.sender.rank},
                {"pid", b.sender.pid},   {"alive_ms", b.sender.aliveMs},
                {"version", 1}};
    }
    Json operator()(const Metrics& b) const {
        return {{"step", b.step},
                {"epoch", b.epoch},
                {"rows", b.rows},
                {"time_ms", b.timeMs},
                {"values", valuesJson(b.values)}};
    }
    Json operator()(const Progress& b) const {
        return {{"step", b.step},
                {"epoch", b.epoch},
                {"rows", b.rows},
                {"steps_total", b.stepsTotal},
                {"phase", b.phase},
                {"busy_ms", jsonNumber(b.times.busyMs)},
                {"stall_ms", jsonNumber(b.times.stallMs)},
                {"evaluate_ms", jsonNumber(b.times.evaluateMs)},
                {"checkpoint_ms", jsonNumber(b.times.checkpointMs)},
                {"start_ms", jsonNumber(b.times.startMs)},
                {"ending_ms", jsonNumber(b.times.endingMs)},
                {"waiting_ms", jsonNumber(b.waitingMs)}};
    }
    Json operator()(const Checkpoint& b) const {
        return {{"step", b.step},
                {"name", b.name},
                {"bytes", b.bytes},
                {"hash", b.hash},
                {"state", b.state}};
    }
    Json operator()(const ReceiptLine& b) const { return {{"receipt", b.receipt}}; }
    Json operator()(const Done& b) const {
        return {{"step", b.step},
                {"rows", b.rows},
                {"state", b.state},
                {"metrics", valuesJson(b.metrics)},
                {"params", b.params}};
    }
    Json operator()(const ErrorLine& b) const { return {{"message", b.message}}; }
    Json operator()(const Alive& b) const {
        Json json = {{"trouble", b.trouble}};
        if (b.awaits >= 0) {
            json["awaits"] = b.awaits;
        }
        return json;
    }
    Json operator()(const Held& b) const { return {{"step", b.step}}; }
    Json operator()(const Dropped& b) const { return {{"why", b.why}}; }
};

Sender readSender(LineRead& read) {
    Sender s;
    s.run = read.text("run");
    s.attempt = read.integer("attempt");
    s.role = read.textOr("role", "rank");
    s.rank = read.integer("rank");
    s.pid = read.integerOr("pid", 0);
    s.aliveMs = read.integerOr("alive_ms", 0);
    return s;
}

// docs/formats/rank-protocol.md describes the lines. Members that older workers do not send have
// defaults; members that are not known here are ignored.
Result<Body> readBody(std::string_view type, LineRead& read) {
    if (type == "hello") {
        Hello hello{readSender(read)};
        if (read.status().ok() && hello.sender.role != "rank" && hello.sender.role != "feed") {
            return invalidArgument("rank line: role '", hello.sender.role,
                                   "' must be rank or feed");
        }
        return hello;
    }
    if (type == "metrics") {
        return Metrics{read.integer("step"), read.integerOr("epoch", 0), read.integerOr("rows", 0),
                       read.integerOr("time_ms", 0), read.values("values")};
    }
    if (type == "progress") {
        return Progress{read.integer("step"),
                        read.integerOr("epoch", 0),
                        read.integerOr("rows", 0),
                        read.integerOr("steps_total", 0),
                        read.textOr("phase", "training"),
                        {read.ms("busy_ms"), read.ms("stall_ms"), read.ms("evaluate_ms"),
                         read.ms("checkpoint_ms"), read.ms("start_ms"), read.ms("ending_ms")},
                        read.realOr("waiting_ms", 0)};
    }
    if (type == "checkpoint") {
        return Checkpoint{read.integer("step"), read.fileName(), read.integer("bytes"),
                          read.text("hash"), read.textOr("state", "")};
    }
    if (type == "receipt") {
        return ReceiptLine{read.object("receipt")};
    }
    if (type == "done") {
        return Done{read.integer("step"), read.integerOr("rows", 0), read.textOr("state", ""),
                    read.values("metrics"), read.texts("params")};
    }
    if (type == "error") {
        return ErrorLine{read.text("message")};
    }
    if (type == "alive") {
        return Alive{read.textOr("trouble", ""), read.integerOr("awaits", -1)};
    }
    if (type == "held") {
        return Held{read.integer("step")};
    }
    return invalidArgument("rank line: type '", type.substr(0, 40),
                           "' is unknown; known: hello, metrics, progress, checkpoint, receipt, "
                           "done, error, alive, held");
}

Json stopJson(const Stop& stop) {
    switch (stop.kind) {
        case Stop::Kind::kHold:
            return {{"hold", true}};
        case Stop::Kind::kBehind:
            return {{"behind", stop.step}};
        case Stop::Kind::kNow:
            break;
    }
    return Json::object();
}

Result<Json> parseObject(std::string_view text) {
    ASSIGN_OR_RETURN(Json json, parseBounded(text, "rank line", {kMaxLineBytes}));
    if (!json.is_object()) {
        return invalidArgument("rank line: not a JSON object");
    }
    return json;
}

}  // namespace

std::string_view typeOf(const Body& body) {
    // In the order of the variant.
    constexpr std::string_view kTypes[] = {"hello", "metrics", "progress", "checkpoint", "receipt",
                                           "done",  "error",   "alive",    "held",       "dropped"};
    return kTypes[body.index()];
}

// Kept lines have a seq, are stored and acknowledged; the others are worth something only now.
bool isKept(const Body& body) {
    return !std::holds_alternative<Hello>(body) && !std::holds_alternative<Alive>(body) &&
           !std::holds_alternative<Held>(body);
}

std::string formatBody(const Body& body) {
    Json json = std::visit(ToJson{}, body);
    json["type"] = std::string(typeOf(body));
    return dumpJson(json);
}

std::string formatLine(const RankLine& line) {
    Json json = std::visit(ToJson{}, line.body);
    json["seq"] = line.seq;
    json["type"] = std::string(typeOf(line.body));
    if (line.attempt >= 0 && isKept(line.body)) {
        json["attempt"] = line.attempt;
    }
    if (line.ended > 0 && isKept(line.body)) {
        json["ended"] = line.ended;
    }
    return dumpJson(json);
}

Result<RankLine> parseLine(std::string_view text) {
    if (text.size() > kMaxLineBytes) {
        return invalidArgument("rank line: longer than ", kMaxLineBytes, " bytes");
    }
    ASSIGN_OR_RETURN(const Json json, parseObject(text));
    LineRead read(json);
    RankLine line;
    const std::string type = read.text("type");
    RETURN_IF_ERROR(read.status());
    ASSIGN_OR_RETURN(line.body, readBody(type, read));
    const bool isCounted = isKept(line.body);
    const std::int64_t seq = isCounted ? read.integer("seq") : read.integerOr("seq", 0);
    line.attempt = isCounted ? read.integerOr("attempt", -1) : -1;
    line.ended = isCounted ? read.integerOr("ended", 0) : 0;
    RETURN_IF_ERROR(read.status());
    if (seq < (isCounted ? 1 : 0)) {
        return invalidArgument("rank line: 'seq' counts from 1");
    }
    line.seq = static_cast<std::uint64_t>(seq);
    return line;
}

std::optional<RankLine> droppedLine(std::string_view text, const Status& why) {
    // The C library writes seq and attempt first: they are found in a line that is not JSON, too.
    const std::string_view front = text.substr(0, text.find(",\"type\""));
    const Result<Json> whole = parseObject(text);
    const Result<Json> json = whole.ok() ? whole : parseObject(strCat(front, "}"));
    if (!json.ok()) {
        return std::nullopt;
    }
    LineRead read(*json);
    const std::int64_t seq = read.integer("seq");
    const std::int64_t attempt = read.integerOr("attempt", -1);
    if (!read.status().ok() || seq < 1) {
        return std::nullopt;
    }
    return RankLine{static_cast<std::uint64_t>(seq), attempt, Dropped{std::string(messageOf(why))}};
}

std::string formatCommand(const Command& command) {
    if (const Ack* ack = std::get_if<Ack>(&command)) {
        Json json{{"ack", ack->seq}};
        if (ack->attempt >= 0) {
            json["attempt"] = ack->attempt;
        }
        return dumpJson(json);
    }
    return dumpJson(Json{{"stop", stopJson(std::get<Stop>(command))}});
}

}  // namespace millrace::rank
