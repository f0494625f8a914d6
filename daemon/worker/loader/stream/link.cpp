#include "daemon/worker/loader/stream/link.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "backend/core/files.h"
#include "backend/core/text.h"
#include "backend/dataset/column_cost.h"

namespace millrace::loader {

namespace {

double seconds(std::int64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

}  // namespace

Result<frame::CodecPlan> readCodecs(const std::string& path, const frame::FrameLayout& layout) {
    ASSIGN_OR_RETURN(const std::string text, readFile(path));
    ASSIGN_OR_RETURN(const Json report, parseJson(text, path));
    const Json& columns = jsonMember(jsonMember(report, "link"), "columns");
    if (!columns.is_array() || columns.empty()) {
        return invalidArgument(path, ": no codecs: not what 'stream --link MB/S --json' printed");
    }
    // A label, its mask and its weight have the same name, so columns are identified by their
    // order.
    frame::CodecPlan plan;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const std::string name = jsonString(columns[c], "name");
        if (c >= layout.numColumns() || layout.columns()[c].name != name) {
            return invalidArgument(path, ": column ", c + 1, " is '", name,
                                   "', which this stream does not have there");
        }
        Result<frame::CodecChoice> choice =
            frame::CodecChoice::parse(jsonString(columns[c], "codec"));
        RETURN_IF_ERROR(annotate(choice.status(), strCat(path, ": column '", name, "'")));
        plan.push_back(*choice);
    }
    if (plan.size() < layout.numColumns()) {
        return invalidArgument(path, ": no codec for column '", layout.columns()[plan.size()].name,
                               "'");
    }
    return plan;
}

struct LinkSink::Coder {
    explicit Coder(frame::CodecPlan plan) : encoder(std::move(plan)) {}
    frame::FrameEncoder encoder;
    frame::FrameDecoder decoder;
    std::vector<std::byte> coded;
};

LinkSink::LinkSink(ring::FrameSink& sink, const frame::FrameLayout& layout,
                   double megabytesPerSecond, frame::CodecPlan pinned)
    : ForwardingSink(sink),
      layout_(layout),
      megabytesPerSecond_(megabytesPerSecond),
      chooser_(layout) {
    MutexLock lock(mutex_);
    report_.megabytesPerSecond = megabytesPerSecond;
    if (!pinned.empty()) {
        report_.isPinned = true;
        probed_ = kProbeFrames;
        plan_ = std::move(pinned);
    }
}

LinkSink::~LinkSink() = default;

// Returns whether the codecs are chosen; before that, measures them on `frame` too.
bool LinkSink::chose(const frame::FrameView& frame, Status& status) {
    MutexLock lock(mutex_);
    if (probed_ == kProbeFrames) {
        return true;
    }
    status = chooser_.add(frame);
    if (++probed_ == kProbeFrames) {
        plan_ = chooser_.choose(megabytesPerSecond_ * 1e6);
    }
    return false;
}

std::unique_ptr<LinkSink::Coder> LinkSink::takeCoder() {
    MutexLock lock(mutex_);
    if (coders_.empty()) {
        return std::make_unique<Coder>(plan_);
    }
    auto coder = std::move(coders_.back());
    coders_.pop_back();
    return coder;
}

Status LinkSink::commit(const ring::FrameSlot& slot, std::uint32_t epoch, std::int64_t number) {
    ASSIGN_OR_RETURN(const frame::FrameView frame,
                     frame::FrameView::open(slot.bytes, frame::CheckLevel::kDirectory));
    Status measured;
    if (!chose(frame, measured)) {
        RETURN_IF_ERROR(measured);
        return ForwardingSink::commit(slot, epoch, number);
    }
    auto coder = takeCoder();
    dataset::CostClock clock;
    RETURN_IF_ERROR(coder->encoder.encode(frame, coder->coded));
    const double encoded = seconds(clock.lap({}, 0).busyNs);
    const std::size_t frameBytes = frame.bytes().size();
    ASSIGN_OR_RETURN(const std::uint64_t wanted,
                     frame::FrameDecoder::frameBytes(coder->coded, frameBytes));
    if (wanted != frameBytes) {
        return dataLoss("micro-batch ", number, ": a frame of ", frameBytes,
                        " bytes came back with ", wanted);
    }
    RETURN_IF_ERROR(coder->decoder.decode(coder->coded, slot.bytes.first(frameBytes)));
    const double decoded = seconds(clock.lap({}, 0).busyNs);
    {
        MutexLock lock(mutex_);
        ++report_.frames;
        report_.bytes += frameBytes;
        report_.codedBytes += coder->coded.size();
        report_.encodeSeconds += encoded;
        report_.decodeSeconds += decoded;
        coders_.push_back(std::move(coder));
    }
    return ForwardingSink::commit(slot, epoch, number);
}

LinkReport LinkSink::report() const {
    MutexLock lock(mutex_);
    LinkReport report = report_;
    for (std::size_t c = 0; c < plan_.size(); ++c) {
        const auto& planned = plan_[c];
        if (report.isPinned) {
            report.columns.push_back({layout_.columns()[c].name, planned.text()});
            continue;
        }
        const auto& measures = chooser_.measures()[c];
        const auto chosen = std::find_if(measures.begin(), measures.end(),
                                         [&](const auto& m) { return m.choice == planned; });
        report.columns.push_back(
            {layout_.columns()[c].name, planned.text(), chosen->bytes, chosen->codedBytes});
    }
    return report;
}

Json LinkReport::toJson() const {
    Json all = Json::array();
    for (const Column& column : columns) {
        all.push_back({{"name", column.name},
                       {"codec", column.codec},
                       {"bytes", column.bytes},
                       {"coded_bytes", column.codedBytes}});
    }
    return {{"mb_per_second", megabytesPerSecond},
            {"pinned", isPinned},
            {"frames", frames},
            {"bytes", bytes},
            {"coded_bytes", codedBytes},
            {"encode_cpu_seconds", encodeSeconds},
            {"decode_cpu_seconds", decodeSeconds},
            {"columns", std::move(all)}};
}

std::string LinkReport::toText() const {
    if (frames == 0) {
        return "link            too few micro-batches to choose codecs\n";
    }
    std::map<std::string, int> counts;
    for (const Column& column : columns) {
        ++counts[column.codec];
    }
    std::string codecs;
    for (const auto& [codec, count] : counts) {
        codecs += strCat(codecs.empty() ? "" : ", ", codec, " ", count);
    }
    char line[200];
    std::snprintf(
        line, sizeof(line),
        "link            %g MB/s: %s sent as %s (%.2fx), coding %.2f s, decoding %.2f s\n",
        megabytesPerSecond, formatBytes(static_cast<double>(bytes)).c_str(),
        formatBytes(static_cast<double>(codedBytes)).c_str(),
        static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(codedBytes, 1)),
        encodeSeconds, decodeSeconds);
    return strCat(line, "                columns by codec: ", codecs,
                  isPinned ? " (as given by --codecs)\n" : "\n");
}

}  // namespace millrace::loader
