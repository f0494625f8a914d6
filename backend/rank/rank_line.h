#pragma once
// The lines of the rank socket as values (docs/formats/rank-protocol.md).
//
// One JSON object per line. NaN and infinities are the strings "NaN", "Infinity", "-Infinity".
// Failure: parsing accepts any input; a line of another form is kInvalidArgument and the message
// names the key.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "backend/core/status.h"
#include "backend/text/json.h"
#include "backend/values/phase_times.h"

namespace millrace::rank {

inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

/// Identity of a sender: sent once per connection, in hello.
struct Sender {
    std::string run;
    std::int64_t attempt = 0;
    std::string role = "rank";  ///< "rank" or "feed"
    std::int64_t rank = 0;
    std::int64_t pid = 0;
    std::int64_t aliveMs = 0;  ///< promised interval of Alive lines, ms; 0: none
    bool operator==(const Sender&) const = default;
};

using Values = std::map<std::string, double>;

struct Hello {
    Sender sender;
    bool operator==(const Hello&) const = default;
};
/// Metrics of one step; timeMs is UTC.
struct Metrics {
    std::int64_t step = 0, epoch = 0, rows = 0, timeMs = 0;
    Values values;
    bool operator==(const Metrics&) const = default;
};
struct Progress {
    std::int64_t step = 0, epoch = 0, rows = 0, stepsTotal = 0;  ///< stepsTotal 0: unknown
    std::string phase;         ///< training, waiting, checkpoint, evaluating, ending
    values::PhaseTimes times;  ///< since the process started to count
    double waitingMs = 0;      ///< time waited for the current batch so far; 0: not waiting
    bool operator==(const Progress&) const = default;
};
struct Checkpoint {
    std::int64_t step = 0;
    std::string name;  ///< in the run's directory of checkpoints; never a path
    std::int64_t bytes = 0;
    std::string hash;
    std::string state;  ///< stream::StreamState text
    bool operator==(const Checkpoint&) const = default;
};
struct ReceiptLine {
    Json receipt;  ///< stream::Receipt as JSON, or the parts known to the sender
    bool operator==(const ReceiptLine&) const = default;
};
struct Done {
    std::int64_t step = 0, rows = 0;
    std::string state;
    Values metrics;
    std::map<std::string, std::string> params;  ///< e.g. eval_order_hash
    bool operator==(const Done&) const = default;
};
struct ErrorLine {
    std::string message;
    bool operator==(const ErrorLine&) const = default;
};
/// Sign of life: sent by a thread that does no other work of the run. Neither kept nor
/// acknowledged.
struct Alive {
    std::string trouble;  ///< what is wrong at the worker now, a sentence; "": nothing
    /// Set by the leading feed: the rank for which it waits after closing its connection; -1: none.
    std::int64_t awaits = -1;
    bool operator==(const Alive&) const = default;
};
/// The answer to Stop::kHold: the furthest step that any rank of that machine has begun. Neither
/// kept nor acknowledged.
struct Held {
    std::int64_t step = 0;
    bool operator==(const Held&) const = default;
};

/// Made by the server of a line that it cannot take: the line's seq is acknowledged, its content
/// dropped. No worker sends one.
struct Dropped {
    std::string why;  ///< a sentence that names the key
    bool operator==(const Dropped&) const = default;
};

using Body = std::variant<Hello, Metrics, Progress, Checkpoint, ReceiptLine, Done, ErrorLine, Alive,
                          Held, Dropped>;

struct RankLine {
    std::uint64_t seq = 0;      ///< from 1 within an attempt; 0: never acknowledged (isKept())
    std::int64_t attempt = -1;  ///< of a line that an older attempt left; -1: the sender's own
    Body body;
    std::int64_t ended = 0;  ///< the last step that the rank has ended; 0: unknown
    bool operator==(const RankLine&) const = default;
};

std::string formatLine(const RankLine& line);  ///< without the line end
/// Like formatLine(), without seq, attempt and ended: the input of ring::LineLink.
std::string formatBody(const Body& body);
Result<RankLine> parseLine(std::string_view text);
/// The Dropped for a line that parseLine() refused with `why`. Nothing where `text` has no seq to
/// acknowledge.
std::optional<RankLine> droppedLine(std::string_view text, const Status& why);
/// "metrics", "done", ...
std::string_view typeOf(const Body& body);
/// False for hello, alive and held.
bool isKept(const Body& body);

/// Commands to the worker.
struct Ack {
    std::uint64_t seq = 0;      ///< everything of that attempt up to this one
    std::int64_t attempt = -1;  ///< -1: the connection's own
    bool operator==(const Ack&) const = default;
};
struct Stop {
    /// With ranks on several machines, kHold asks for Held and stops further steps until kBehind
    /// names the last one.
    enum class Kind { kNow, kHold, kBehind };
    Kind kind = Kind::kNow;
    std::int64_t step = 0;  ///< kBehind
    bool operator==(const Stop&) const = default;
};
using Command = std::variant<Ack, Stop>;

std::string formatCommand(const Command& command);

}  // namespace millrace::rank
