#include "daemon/agent/log_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "backend/core/clock.h"
#include "backend/core/json.h"
#include "backend/engines/worker_log.h"

namespace millrace::agent {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;
constexpr std::size_t kMostLineBytes = 16 << 10;

std::optional<LogLevel> levelOf(std::string_view word) {
    constexpr std::pair<std::string_view, LogLevel> kWords[] = {{"debug", LogLevel::kDebug},
                                                                {"info", LogLevel::kInfo},
                                                                {"warn", LogLevel::kWarn},
                                                                {"warning", LogLevel::kWarn},
                                                                {"error", LogLevel::kError}};
    for (const auto& [text, level] : kWords) {
        if (text == word) {
            return level;
        }
    }
    return std::nullopt;
}

std::string_view nextWord(std::string_view& rest) {
    const std::size_t blank = rest.find(' ');
    const std::string_view word = rest.substr(0, blank);
    rest = blank == std::string_view::npos ? std::string_view() : rest.substr(blank + 1);
    return word;
}

// A worker's own structured line "TIME level event ..." has its level as second word; its time is
// the guardian's to within a write, so it is not shown twice.
void readOwnPrefix(LogLine& line) {
    std::string_view rest(line.text);
    const std::string_view time = nextWord(rest);
    if (time.size() < 20 || !parseTime(time).ok()) {
        return;
    }
    const std::optional<LogLevel> level = levelOf(nextWord(rest));
    if (level.has_value()) {
        line.level = *level;
        line.text = std::string(rest);
    }
}

}  // namespace

std::optional<LogLine> parseLogLine(std::string_view text) {
    std::string_view rest = text;
    const Result<std::int64_t> time = parseTime(nextWord(rest));
    const std::string_view origin = nextWord(rest);
    const bool isOrigin = origin == "o" || origin == "e" || origin == "m";
    if (!time.ok() || !isOrigin) {
        return std::nullopt;
    }
    if (origin == "m" && rest.rfind("log-offset", 0) == 0) {
        return std::nullopt;
    }
    LogLine line;
    line.timeMs = *time;
    line.isStderr = origin == "e";
    line.text = std::string(rest.substr(0, kMostLineBytes));
    if (origin == "m") {
        line.level = LogLevel::kInfo;
    } else {
        readOwnPrefix(line);
    }
    return line;
}

std::string lastLogLine(const std::string& workerDirectory) {
    std::string last;
    std::uint64_t offset = 0;
    for (;;) {
        const auto chunk = engines::readWorkerLog(workerDirectory, offset, kReadBytes);
        if (!chunk.ok() || chunk->bytes.empty()) {
            return last;
        }
        offset = chunk->nextOffset;
        std::string_view rest(chunk->bytes);
        while (!rest.empty()) {
            const std::size_t end = rest.find('\n');
            const std::string_view text = rest.substr(0, end);
            rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
            const bool isGuardians = text.find(" m ") == text.find(' ');
            const std::optional<LogLine> line = parseLogLine(text);
            if (line.has_value() && !isGuardians && !line->text.empty()) {
                last = line->text.substr(0, 300);
            }
        }
    }
}

Result<LogReader> LogReader::open(RunDirectory directory, LogQuery query) {
    LogReader reader(std::move(directory), std::move(query));
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
            return invalidArgument("'", query_.cursor, "' is no position in a log");
        }
        startOffsets_[std::string(part.substr(0, colon))] = offset;
    }
    isTailDone_ = !query_.cursor.empty() || query_.tailLines == 0;
    return okStatus();
}

void LogReader::findSources() {
    for (const int attempt : directory_.attempts()) {
        if (query_.attempt != 0 && query_.attempt != attempt) {
            continue;
        }
        for (const std::string& worker : directory_.workers(attempt)) {
            const auto& wanted = query_.workers;
            const bool isWanted =
                wanted.empty() || std::find(wanted.begin(), wanted.end(), worker) != wanted.end();
            const std::string key = strCat(attempt, "/", worker);
            if (!isWanted || sources_.contains(key)) {
                continue;
            }
            Source source;
            source.attempt = attempt;
            source.worker = worker;
            source.directory = directory_.attemptPath(attempt) + "/" + worker;
            const auto start = startOffsets_.find(key);
            source.offset = start == startOffsets_.end() ? 0 : start->second;
            source.readTo = source.offset;
            sources_.emplace(key, std::move(source));
        }
    }
}

bool LogReader::isWanted(const LogLine& line) const {
    return line.level == LogLevel::kNone || line.level >= query_.minLevel;
}

void LogReader::fill(Source& source, std::uint64_t& gaps) {
    while (source.buffer.empty()) {
        const auto chunk = engines::readWorkerLog(source.directory, source.readTo, kReadBytes);
        if (!chunk.ok() || chunk->bytes.empty()) {
            return;
        }
        std::uint64_t at = chunk->nextOffset - chunk->bytes.size();
        gaps += at > source.readTo ? 1 : 0;
        std::string_view rest(chunk->bytes);
        while (!rest.empty()) {
            const std::size_t end = rest.find('\n');
            const std::size_t size = end == std::string_view::npos ? rest.size() : end + 1;
            std::optional<LogLine> line = parseLogLine(rest.substr(0, end));
            rest.remove_prefix(size);
            at += size;
            if (line.has_value() && isWanted(*line)) {
                line->worker = source.worker;
                line->attempt = source.attempt;
                source.buffer.push_back({std::move(*line), at});
            }
        }
        source.readTo = chunk->nextOffset;
    }
}

LogPage LogReader::next(std::size_t most) {
    findSources();
    if (!isTailDone_) {
        return tail();
    }
    LogPage page;
    while (page.lines.size() < most) {
        Source* earliest = nullptr;
        for (auto& [key, source] : sources_) {
            fill(source, page.droppedLines);
            if (!source.buffer.empty() &&
                (earliest == nullptr ||
                 source.buffer.front().line.timeMs < earliest->buffer.front().line.timeMs)) {
                earliest = &source;
            }
            if (source.buffer.empty()) {
                source.offset = source.readTo;
            }
        }
        if (earliest == nullptr) {
            page.isAtEnd = true;
            break;
        }
        earliest->offset = earliest->buffer.front().end;
        page.lines.push_back(std::move(earliest->buffer.front().line));
        earliest->buffer.pop_front();
    }
    page.cursor = cursorText();
    return page;
}

// The last lines of what is there now; the logs are bounded, so they are read through.
LogPage LogReader::tail() {
    isTailDone_ = true;
    std::deque<LogLine> kept;
    LogPage page;
    do {
        page = next(kMostLineBytes);
        for (LogLine& line : page.lines) {
            kept.push_back(std::move(line));
            if (kept.size() > query_.tailLines) {
                kept.pop_front();
            }
        }
    } while (!page.isAtEnd);
    page.lines.assign(std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
    return page;
}

std::string LogReader::cursorText() const {
    std::string text;
    for (const auto& [key, source] : sources_) {
        strAppend(&text, text.empty() ? "" : ",", key, ":", source.offset);
    }
    return text;
}

}  // namespace millrace::agent
