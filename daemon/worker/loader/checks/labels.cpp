#include "daemon/worker/loader/checks/labels.h"

#include <algorithm>
#include <limits>

#include "backend/spec/trainable.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/bare_spec.h"

namespace millrace::loader {
namespace {

const char* nothingTo(recipe::Part part) {
    return part == recipe::Part::kEval ? ": there is nothing to evaluate"
                                       : ": there is nothing to learn";
}

// The condition or step that keeps none of the rows before it, if there is one. Rows that
// statistics of the files rule out have not reached `where`.
std::vector<LabelFinding> emptyStep(const segment::RowCounts& counts,
                                    const std::vector<std::string>& names, recipe::Part part,
                                    bool isCertain) {
    const std::vector<recipe::StepCount>& steps = counts.steps;
    const auto found = std::ranges::find(steps, 0, &recipe::StepCount::rowsOut);
    if (counts.rowsScanned == 0 || (!steps.empty() && found == steps.end())) {
        return {};
    }
    const auto step = static_cast<std::size_t>(found - steps.begin());
    const bool isWhere = steps.empty() || step == 0;
    const std::string key = !isWhere                      ? strCat("recipe.", names[step])
                            : part == recipe::Part::kEval ? "eval.dataset.where"
                                                          : "dataset.where";
    return {{"",
             strCat(key, ": keeps none of the ",
                    formatCount(isWhere ? counts.rowsScanned : found->rowsIn), " rows",
                    isWhere ? "" : " before it", isCertain ? "" : " looked at", nothingTo(part)),
             isCertain, false, true}};
}

// Counts the labels of rows, by head.
class LabelTally {
 public:
    explicit LabelTally(const std::vector<std::string>& heads) {
        constexpr float kFar = std::numeric_limits<float>::infinity();
        for (const std::string& head : heads) {
            ranges_.push_back({head, kFar, -kFar});
        }
    }
    void add(std::size_t head, float label) {
        Range& range = ranges_[head];
        range.least = std::min(range.least, label);
        range.most = std::max(range.most, label);
    }
    /// Every head has had two different values.
    bool isFine() const {
        return std::all_of(ranges_.begin(), ranges_.end(),
                           [](const Range& range) { return range.least < range.most; });
    }
    /// Heads with fewer values. `isCertain`: there are no other rows.
    std::vector<LabelFinding> findings(recipe::Part part, bool isCertain) const;

 private:
    struct Range {
        std::string head;
        float least, most;
    };
    std::vector<Range> ranges_;
};

// A column of floats that a label reads, beside the label a head of its own: 1 where it is NaN.
struct NanProbe {
    std::string head, column, test, name;
    std::int64_t rows = 0, nans = 0;  ///< of those that the label counts

    LabelFinding finding(recipe::Part part, bool isCertain) const {
        return {head,
                strCat("labels.", head, ": ", formatCount(nans), " of ", formatCount(rows),
                       part == recipe::Part::kEval ? " evaluation rows" : " rows",
                       isCertain ? "" : " looked at", " have NaN in '", column,
                       "', which compares as greater than every number; `where: not ", test,
                       "` beside the label's `expr` leaves them out"),
                false, true};
    }
};

// Adds the heads of the probes to the labels of `spec`.
std::vector<NanProbe> addProbes(const expr::Schema& columns, recipe::Part part,
                                spec::RunSpec& spec) {
    std::vector<NanProbe> probes;
    const auto labels = spec.labels;
    for (const auto& [head, label] : labels) {
        for (const auto& [column, test] : spec::nanTests(label, spec.recipe, columns)) {
            const std::string name = strCat("nan of ", column, " in ", head);
            probes.push_back({head, column, test, name});
            spec.labels[name] = {test, "", label.where};
        }
    }
    if (part == recipe::Part::kEval) {
        spec.eval->labels = spec.labels;
    }
    return probes;
}

// The spec without what labels do not need.
spec::RunSpec labelsOnly(spec::RunSpec spec, recipe::Part part) {
    if (part == recipe::Part::kEval) {
        spec.recipe = spec.eval->labelRecipe;
        spec.labels = spec.eval->labels;
        spec.eval->recipe.clear();
    }
    spec.embeddings.clear();
    spec.batch.order = "as_is";
    return bareSpec(std::move(spec), {});
}

/// A head's columns in a chunk.
struct LabelColumns {
    const float* values;
    const std::uint8_t* masks;

    static LabelColumns of(const segment::Chunk& chunk, const frame::FrameLayout& layout,
                           const std::string& head) {
        const auto at = [&](frame::Role role) {
            return chunk.columns[static_cast<std::size_t>(layout.find(role, head))].values;
        };
        return {reinterpret_cast<const float*>(at(frame::Role::kLabel)),
                reinterpret_cast<const std::uint8_t*>(at(frame::Role::kMask))};
    }
};

void look(const segment::SegmentOutput& output, const frame::FrameLayout& layout,
          const std::vector<std::string>& heads, LabelTally& tally) {
    for (std::size_t h = 0; h < heads.size(); ++h) {
        for (const segment::Chunk& chunk : output.chunks) {
            const LabelColumns label = LabelColumns::of(chunk, layout, heads[h]);
            for (std::int64_t r = 0; r < chunk.rows; ++r) {
                if (label.masks[r] != 0) {
                    tally.add(h, label.values[r]);
                }
            }
        }
    }
}

void look(const segment::SegmentOutput& output, const frame::FrameLayout& layout, NanProbe& probe) {
    for (const segment::Chunk& chunk : output.chunks) {
        const LabelColumns label = LabelColumns::of(chunk, layout, probe.head);
        const LabelColumns test = LabelColumns::of(chunk, layout, probe.name);
        for (std::int64_t r = 0; r < chunk.rows; ++r) {
            if (label.masks[r] != 0) {
                ++probe.rows;
                probe.nans += test.masks[r] != 0 && test.values[r] > 0 ? 1 : 0;
            }
        }
    }
}

void addLonelyJoins(const recipe::CompiledRecipe& recipe,
                    const std::vector<recipe::StepCount>& steps, recipe::Part part, bool isCertain,
                    std::vector<LabelFinding>& found) {
    const std::string rows = strCat(part == recipe::Part::kEval ? "evaluation rows" : "rows",
                                    isCertain ? "" : " looked at");
    for (auto& [step, message] : lonelyJoins(recipe, steps, rows)) {
        found.push_back({.head = step, .message = message, .isJoin = true});
    }
}

}  // namespace

std::map<std::string, std::string> lonelyJoins(const recipe::CompiledRecipe& recipe,
                                               const std::vector<recipe::StepCount>& steps,
                                               std::string_view rows) {
    std::map<std::string, std::string> lonely;
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const std::vector<std::string>& reasons = recipe.stepReasons()[s];
        const auto alone = std::ranges::find(reasons, "no partner") - reasons.begin();
        const std::string& name = recipe.stepNames()[s];
        if (alone < std::ssize(reasons) && steps[s].rowsIn > 0 &&
            steps[s].reasons[static_cast<std::size_t>(alone)] == steps[s].rowsIn) {
            lonely[name] =
                strCat("step '", name, "': none of ", formatCount(steps[s].rowsIn), " ", rows,
                       " found a partner in the table; compare the keys of both sides");
        }
    }
    return lonely;
}

std::vector<LabelFinding> LabelTally::findings(recipe::Part part, bool isCertain) const {
    const bool isEval = part == recipe::Part::kEval;
    const std::string rows =
        strCat("every ", isEval ? "evaluation" : "training", isCertain ? " row" : " row looked at");
    std::vector<LabelFinding> found;
    for (const Range& range : ranges_) {
        if (range.least < range.most) {
            continue;
        }
        const bool isNone = range.least > range.most;
        const char* const so = isNone   ? nothingTo(part)
                               : isEval ? ": an evaluation needs both classes"
                                        : ": a label needs both classes";
        found.push_back(
            {range.head,
             isNone ? strCat("label '", range.head, "' is null in ", rows, isCertain ? so : "")
                    : strCat("label '", range.head, "' is ", range.least, " in ", rows, so),
             isCertain});
    }
    return found;
}

Result<std::vector<LabelFinding>> checkLabels(const spec::RunSpec& spec, const stream::Plan& plan,
                                              recipe::Part part, const LabelCheckOptions& wanted) {
    spec::RunSpec looked = labelsOnly(spec, part);
    const std::vector<std::string> heads = looked.heads();
    std::vector<NanProbe> probes = wanted.columns == nullptr
                                       ? std::vector<NanProbe>()
                                       : addProbes(*wanted.columns, part, looked);
    ASSIGN_OR_RETURN(const auto stream, SplitStream::open(looked, plan, {.part = part}));
    const segment::StreamInput& input = stream->input();
    LabelTally tally(heads);
    segment::RowCounts counts;
    std::int64_t bytes = 0, segment = 0;
    while (segment < input.numSegments() && bytes < wanted.mostBytes && !tally.isFine()) {
        bytes += input.decodedBytes(0, segment);
        ASSIGN_OR_RETURN(const segment::SegmentOutput output, stream->run(segment++));
        counts.add(output.counts);
        look(output, input.layout(), heads, tally);
        for (NanProbe& probe : probes) {
            look(output, input.layout(), probe);
        }
    }
    const bool isCertain = segment == input.numSegments();
    std::vector<LabelFinding> found =
        emptyStep(counts, input.recipe().stepNames(), part, isCertain);
    if (!found.empty()) {
        return found;
    }
    found = tally.findings(part, isCertain);
    for (const NanProbe& probe : probes) {
        if (probe.nans > 0) {
            found.push_back(probe.finding(part, isCertain));
        }
    }
    if (wanted.columns != nullptr) {
        addLonelyJoins(input.recipe(), counts.steps, part, isCertain, found);
    }
    return found;
}

}  // namespace millrace::loader
