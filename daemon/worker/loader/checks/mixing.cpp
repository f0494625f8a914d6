#include "daemon/worker/loader/checks/mixing.h"

#include <cstdint>
#include <set>
#include <utility>

#include "backend/text/text.h"
#include "daemon/worker/loader/bare_spec.h"

namespace millrace::loader {
namespace {

constexpr std::int64_t kSegments = 2;

using Keys = std::set<std::uint64_t>;

// Returns the spec without the parts that the keys do not need.
spec::RunSpec keysOnly(spec::RunSpec spec) {
    spec::FeaturesSpec keys;
    keys.user = spec.features.user;
    keys.request = spec.features.request;
    keys.dedup = "off";
    spec.embeddings.clear();
    spec.eval.reset();
    return bareSpec(std::move(spec), std::move(keys));
}

// Adds keys up to `most` different ones: more make no difference.
void add(const std::uint64_t* keys, std::int64_t rows, std::size_t most, Keys& out) {
    for (std::int64_t r = 0; keys != nullptr && r < rows && out.size() < most; ++r) {
        out.insert(keys[r]);
    }
}

struct Seen {
    Keys users, requests;
};

// Returns a sentence about a key, "" if nothing is wrong. `first`: keys of one segment; `both`: of
// it and its neighbour.
std::string noteOf(const char* key, const std::string& column, const Keys& first, const Keys& both,
                   std::int64_t splits) {
    const bool isSorted = 2 * both.size() >= 3 * first.size();
    if (!isSorted) {
        return "";
    }
    return strCat(
        "features.", key, ": a segment (batch.segment_splits: ", splits, ") holds ", first.size(),
        " different values of '", column,
        "' and the next one others: the files are sorted by it, and rows are mixed within a "
        "segment only. Steps that see few of them at a time learn worse; a larger "
        "batch.segment_splits mixes more");
}

}  // namespace

Result<std::vector<std::string>> checkMixing(const spec::RunSpec& spec, const stream::Plan& plan,
                                             const MixingBounds& bounds) {
    std::vector<std::string> notes;
    const bool hasKey = !spec.features.user.empty() || !spec.features.request.empty();
    if (!hasKey || spec.batch.shuffle == "none" || spec.batch.order == "as_is") {
        return notes;
    }
    ASSIGN_OR_RETURN(const auto stream, SplitStream::open(keysOnly(spec), plan,
                                                          {.segmentSplits = plan.segmentSplits}));
    const segment::StreamInput& input = stream->input();
    if (input.numSegments() < kSegments ||
        input.decodedBytes(0, 0) + input.decodedBytes(0, 1) > bounds.bytesMax) {
        return notes;
    }
    Seen first, both;
    const auto isSmall = [&bounds](const Keys& keys) {
        return !keys.empty() && keys.size() < bounds.keysEnough;
    };
    for (std::int64_t s = 0; s < kSegments; ++s) {
        ASSIGN_OR_RETURN(const segment::SegmentOutput output, stream->run(s));
        for (const segment::Chunk& chunk : output.chunks) {
            add(chunk.userKeys, chunk.rows, 2 * bounds.keysEnough, both.users);
            add(chunk.requestKeys, chunk.rows, 2 * bounds.keysEnough, both.requests);
        }
        first = s == 0 ? both : first;
        if (!isSmall(first.users) && !isSmall(first.requests)) {
            break;
        }
    }
    const auto note = [&](const char* key, const std::string& column, const Keys& one,
                          const Keys& two) {
        std::string text =
            isSmall(one) ? noteOf(key, column, one, two, plan.segmentSplits) : std::string();
        if (!text.empty()) {
            notes.push_back(std::move(text));
        }
    };
    note("user", spec.features.user, first.users, both.users);
    note("request", spec.features.request, first.requests, both.requests);
    return notes;
}

}  // namespace millrace::loader
