#include "backend/checkpoint/checkpoint_file.h"

#include <algorithm>
#include <cmath>

#include "backend/checkpoint/formats.h"

namespace millrace::checkpoint {
namespace {

Result<CheckpointContent> readEither(const FileBytes& file, const ReadWatch* watch) {
    const std::uint64_t most = kFormat1Magic.size();
    ASSIGN_OR_RETURN(const std::string start, file.text(0, std::min(most, file.size())));
    return start == kFormat1Magic ? readFormat1(file, watch) : readFormat2(file, watch);
}

std::optional<Judgement> judgementOf(const Json& meta) {
    const Json& early = jsonMember(meta, "early_stop");
    const std::int64_t step = jsonInt(meta, "step");
    const Result<double> value =
        jsonDouble(jsonMember(jsonMember(meta, "values"), jsonString(early, "metric")));
    if (!early.is_object() || !value.ok() || std::isnan(*value) ||
        jsonInt(meta, "eval_step", -1) != step) {
        return std::nullopt;
    }
    return Judgement{*value, jsonBool(early, "higher_is_better"),
                     jsonInt(early, "best_step", -1) == step};
}

}  // namespace

CheckpointFacts factsOf(const Json& meta, const FileBytes& file) {
    const Json& identity = jsonMember(meta, "identity");
    CheckpointFacts facts;
    facts.step = jsonInt(meta, "step");
    facts.epoch = jsonInt(meta, "epoch");
    facts.attempt = jsonInt(meta, "attempt");
    facts.run = jsonString(identity, "run");
    facts.streamHash = jsonString(identity, "stream_hash");
    facts.state = jsonString(meta, "state");
    facts.judgement = judgementOf(meta);
    facts.bytes = static_cast<std::int64_t>(file.size());
    facts.timeMs = file.timeMs();
    return facts;
}

Result<CheckpointContent> readContent(const FileBytes& file, const ReadWatch& watch) {
    return readEither(file, &watch);
}

Result<CheckpointFacts> readFacts(int fd, const std::string& place) {
    ASSIGN_OR_RETURN(const FileBytes file, FileBytes::ofFile(fd, place));
    ASSIGN_OR_RETURN(CheckpointContent content, readEither(file, nullptr));
    return std::move(content.facts);
}

Result<CheckpointFacts> verify(int fd, const std::string& place, const ReadWatch& watch) {
    ASSIGN_OR_RETURN(const FileBytes file, FileBytes::ofFile(fd, place));
    ASSIGN_OR_RETURN(CheckpointContent content, readEither(file, &watch));
    return std::move(content.facts);
}

}  // namespace millrace::checkpoint
