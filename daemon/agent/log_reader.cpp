#include "daemon/agent/log_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "backend/core/clock.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/log_text.h"
#include "backend/text/json.h"
#include "backend/text/utf8.h"

namespace millrace::agent {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;
constexpr std::size_t kMostLineBytes = 16 << 10;
constexpr std::size_t kTurnBytes = 1 << 20;  // read in one call of next()
constexpr std::size_t kPageBytes = 1 << 20;  // of text in one page

values::LogLevel levelOf(std::string_view word) {
    constexpr std::pair<std::string_view, values::LogLevel> kWords[] = {
        {"debug", values::LogLevel::kDebug},
        {"info", values::LogLevel::kInfo},
        {"warn", values::LogLevel::kWarn},
        {"warning", values::LogLevel::kWarn},
        {"error", values::LogLevel::kError}};
    for (const auto& [text, level] : kWords) {
        if (text == word) {
            return level;
        }
    }
    return values::LogLevel::kNone;
}

}  // namespace

std::optional<values::LogLine> parseLogLine(std::string_view text) {
    const std::optional<job::LogText> split = job::splitLogLine(text);
    if (!split.has_value()) {
        return std::nullopt;
    }
    values::LogLine line;
    line.timeMs = split->timeMs;
    line.isStderr = split->origin == 'e';
    line.text = toUtf8(split->text, kMostLineBytes);
    line.level = split->origin == 'm' ? values::LogLevel::kInfo : levelOf(split->level);
    return line;
}

Result<LogReader> LogReader::open(const job::WorkerLogs& logs, std::string runId, LogQuery query) {
    LogReader reader(logs, std::move(runId), std::move(query));
    RETURN_IF_ERROR(reader.readCursor());
    return reader;
}

// "1/feed:1200,1/rank0:88"
Status LogReader::readCursor() {
    std::string_view rest(query_.cursor);
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        const std::size_t colon = part.rfind(':');
        std::uint64_t offset = 0;
        const char* end = part.data() + part.size();
        if (colon == std::string_view::npos ||
            std::from_chars(part.data() + colon + 1, end, offset).ptr != end) {
            return invalidArgument("'", query_.cursor, "' is not a position in a log");
        }
        startOffsets_[std::string(part.substr(0, colon))] = offset;
    }
    isTailDone_ = !query_.cursor.empty() || query_.tailLines == 0;
    query_.tailLines = std::min(query_.tailLines, kMostTailLines);
    return okStatus();
}

void LogReader::findSources() {
    for (const int attempt : logs_->attempts(runId_)) {
        if (query_.attempt != 0 && query_.attempt != attempt) {
            continue;
        }
        for (const std::string& worker : logs_->workers(runId_, attempt)) {
            const auto& wanted = query_.workers;
            const bool isWanted =
                wanted.empty() || std::find(wanted.begin(), wanted.end(), worker) != wanted.end();
            const std::string key = strCat(attempt, "/", worker);
            if (!isWanted || sources_.contains(key)) {
                continue;
            }
            Source source;
            source.key = {runId_, attempt, worker};
            const auto start = startOffsets_.find(key);
            source.offset = start == startOffsets_.end() ? 0 : start->second;
            source.readTo = source.offset;
            source.stopAt = query_.isFollowing ? job::kLogEnd : logs_->end(source.key);
            source.lookedTo = source.stopAt;
            sources_.emplace(key, std::move(source));
        }
    }
}

bool LogReader::isWanted(const values::LogLine& line) const {
    return line.level == values::LogLevel::kNone || line.level >= query_.minLevel;
}

// Keeps the wanted lines of a piece of the log, up to where this reader stops.
void LogReader::keep(Source& source, std::string_view bytes, std::uint64_t start) {
    std::uint64_t at = start;
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::size_t size = end == std::string_view::npos ? bytes.size() : end + 1;
        if (at + size > source.stopAt) {
            source.readTo = source.stopAt;
            return;
        }
        std::optional<values::LogLine> line = parseLogLine(bytes.substr(0, end));
        bytes.remove_prefix(size);
        at += size;
        source.readTo = at;
        if (line.has_value() && isWanted(*line)) {
            line->worker = source.key.worker;
            line->attempt = source.key.attempt;
            line->rank = job::rankOf(source.key.worker);
            source.buffer.push_back({std::move(*line), at});
        }
    }
}

LogReader::Fill LogReader::fill(Source& source, LogPage& page) {
    while (source.buffer.empty()) {
        if (source.readTo >= source.stopAt) {
            return Fill::kAtEnd;
        }
        if (turnBytes_ == 0) {
            return Fill::kTurnOver;
        }
        const auto block = logs_->read(source.key, source.readTo, kReadBytes);
        if (!block.ok() || block->bytes.empty()) {
            return Fill::kAtEnd;
        }
        turnBytes_ -= std::min(turnBytes_, block->bytes.size());
        page.droppedLines += block->start > source.readTo ? 1 : 0;
        keep(source, block->bytes, block->start);
    }
    return Fill::kReady;
}

// Returns the worker whose next line is the oldest. Null if there is none, or if the call's budget
// was spent before each worker had its next line.
LogReader::Source* LogReader::earliest(LogPage& page, bool& isTurnOver) {
    Source* first = nullptr;
    for (auto& [key, source] : sources_) {
        switch (fill(source, page)) {
            case Fill::kTurnOver:
                isTurnOver = true;
                source.offset = source.readTo;
                break;
            case Fill::kAtEnd:
                source.offset = source.readTo;
                break;
            case Fill::kReady:
                if (first == nullptr ||
                    source.buffer.front().line.timeMs < first->buffer.front().line.timeMs) {
                    first = &source;
                }
        }
    }
    return isTurnOver ? nullptr : first;
}

LogPage LogReader::next(std::size_t most, bool looksForWorkers) {
    turnBytes_ = kTurnBytes;
    if (looksForWorkers) {
        findSources();
    }
    LogPage page;
    if (!isTailDone_ && !findTail()) {
        return page;
    }
    for (std::size_t bytes = 0; page.lines.size() < most && bytes < kPageBytes;) {
        bool isTurnOver = false;
        Source* source = earliest(page, isTurnOver);
        if (source == nullptr) {
            page.isAtEnd = !isTurnOver;
            break;
        }
        source->offset = source->buffer.front().end;
        bytes += source->buffer.front().line.text.size();
        page.lines.push_back(std::move(source->buffer.front().line));
        source->buffer.pop_front();
    }
    page.cursor = cursorText();
    return page;
}

// Searches backwards from the ends of the logs for the start of the tail, over several calls if
// needed. False: not found yet.
bool LogReader::findTail() {
    for (auto& [key, source] : sources_) {
        while (!source.isLookedThrough) {
            if (turnBytes_ == 0) {
                return false;
            }
            lookBack(source);
        }
    }
    startAtTail();
    isTailDone_ = true;
    return true;
}

void LogReader::lookBack(Source& source) {
    const auto block = logs_->readBack(source.key, source.lookedTo, kReadBytes);
    if (!block.ok() || block->bytes.empty()) {
        source.isLookedThrough = true;
        return;
    }
    turnBytes_ -= std::min(turnBytes_, block->bytes.size());
    if (source.offset == 0) {
        source.offset = block->end();  // a log without a line in the tail is read from here
    }
    source.lookedTo = block->start;
    for (std::string_view rest(block->bytes); !rest.empty() && !source.isLookedThrough;) {
        const std::string_view text = job::takeLastLine(rest);
        const std::optional<values::LogLine> line = parseLogLine(text);
        if (line.has_value() && isWanted(*line)) {
            source.marks.push_front({line->timeMs, block->start + rest.size()});
            source.isLookedThrough = source.marks.size() >= query_.tailLines;
        }
    }
}

// Takes the newest of all workers' last lines, one by one, in the order of the merge.
void LogReader::startAtTail() {
    for (std::size_t i = 0; i < query_.tailLines; ++i) {
        Source* newest = nullptr;
        for (auto& [key, source] : sources_) {
            const bool isNewer =
                !source.marks.empty() &&
                (newest == nullptr || source.marks.back().timeMs >= newest->marks.back().timeMs);
            newest = isNewer ? &source : newest;
        }
        if (newest == nullptr) {
            break;
        }
        newest->offset = newest->marks.back().start;
        newest->marks.pop_back();
    }
    for (auto& [key, source] : sources_) {
        source.readTo = source.offset;
        source.marks.clear();
    }
}

std::string LogReader::cursorText() const {
    std::string text;
    for (const auto& [key, source] : sources_) {
        strAppend(&text, text.empty() ? "" : ",", key, ":", source.offset);
    }
    return text;
}

}  // namespace millrace::agent
