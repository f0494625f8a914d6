#include "backend/stream/receipt.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

namespace millrace::stream {
namespace {

/// Removes `prefix` from the front; returns false if it is not there.
bool takePrefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) {
        return false;
    }
    text.remove_prefix(prefix.size());
    return true;
}

/// `text` is for example "2/no partner": a reason of the third step.
void addReason(std::string_view text, std::int64_t rows, std::vector<ReceiptStep>& steps) {
    std::size_t step = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (error == std::errc() && step < steps.size() && takePrefix(text, "/")) {
        steps[step].reasons.push_back({std::string(text), rows});
    }
}

std::int64_t countOf(const std::map<std::string, std::int64_t>& counts, const std::string& name) {
    const auto at = counts.find(name);
    return at == counts.end() ? 0 : at->second;
}

/// The names are sorted: so are the reasons of a step, and the vocabularies.
void addCounts(const std::map<std::string, std::int64_t>& counts, Receipt& receipt) {
    std::set<std::string> heads;
    for (const auto& [name, count] : counts) {
        std::string_view rest = name;
        if (takePrefix(rest, "step/")) {
            addReason(rest, count, receipt.steps);
        } else if (takePrefix(rest, "ids/")) {
            receipt.vocabularies.push_back(
                {std::string(rest), count, countOf(counts, strCat("unknown/", rest))});
        } else if (takePrefix(rest, "label/null/") || takePrefix(rest, "label/nan/")) {
            heads.emplace(rest);
        }
    }
    for (const std::string& head : heads) {
        receipt.labels.push_back({head, countOf(counts, strCat("label/null/", head)),
                                  countOf(counts, strCat("label/nan/", head))});
    }
}

}  // namespace

Receipt Receipt::of(const Plan& plan, const StreamState& state,
                    const std::vector<std::string>& stepNames, std::int64_t rowsTrained) {
    Receipt receipt;
    for (const PlanFile& f : plan.files) {
        receipt.files.push_back({f.path, f.relativePath, f.footerHash, f.bytes, f.rows});
    }
    receipt.sideTables = plan.sideTables;
    receipt.endsInsideSegment = state.cursor.offset > 0;
    receipt.isOpenSegmentCounted = state.opened.segments > 0;
    SegmentSums sums = state.sums;
    sums.add(state.opened);
    const std::size_t steps = std::max(stepNames.size(), sums.steps.size());
    for (std::size_t i = 0; i < steps; ++i) {
        const StepRows rows = i < sums.steps.size() ? sums.steps[i] : StepRows{};
        receipt.steps.push_back(
            {i < stepNames.size() ? stepNames[i] : strCat("step ", i + 1), rows.in, rows.out});
    }
    addCounts(sums.counts, receipt);
    receipt.rowsScanned = sums.rowsScanned;
    receipt.rowsPruned = sums.rowsPruned;
    receipt.rowsKept = sums.rowsKept;
    receipt.rowsDelivered = state.rowsDelivered;
    receipt.rowsTrained = rowsTrained;
    receipt.planHash = state.cursor.planHash;
    receipt.streamHash = state.cursor.streamHash;
    receipt.orderHash = state.orderHash.hex();
    return receipt;
}

Json Receipt::toJson() const {
    Json fileList = Json::array(), tableList = Json::array(), stepList = Json::array();
    Json vocabularyList = Json::array(), labelList = Json::array();
    for (const ReceiptFile& f : files) {
        fileList.push_back(Json{{"path", f.path},
                                {"relative_path", f.relativePath},
                                {"footer_hash", f.footerHash},
                                {"bytes", f.bytes},
                                {"rows", f.rows}});
    }
    for (const SideTable& t : sideTables) {
        tableList.push_back(t.toJson());
    }
    for (const ReceiptStep& s : steps) {
        Json reasons = Json::array();
        for (const ReceiptReason& r : s.reasons) {
            reasons.push_back(Json{{"name", r.name}, {"rows", r.rows}});
        }
        stepList.push_back(Json{{"name", s.name},
                                {"rows_in", s.rowsIn},
                                {"rows_out", s.rowsOut},
                                {"reasons", std::move(reasons)}});
    }
    for (const ReceiptVocabulary& v : vocabularies) {
        vocabularyList.push_back(
            Json{{"feature", v.feature}, {"ids", v.ids}, {"unknown", v.unknown}});
    }
    for (const ReceiptLabel& label : labels) {
        labelList.push_back(Json{{"head", label.head}, {"null", label.nulls}, {"nan", label.nans}});
    }
    return Json{{"files", std::move(fileList)},
                {"side_tables", std::move(tableList)},
                {"steps", std::move(stepList)},
                {"rows_scanned", rowsScanned},
                {"rows_pruned", rowsPruned},
                {"rows_kept", rowsKept},
                {"rows_delivered", rowsDelivered},
                {"rows_trained", rowsTrained},
                {"ends_inside_segment", endsInsideSegment},
                {"open_segment_counted", isOpenSegmentCounted},
                {"plan_hash", planHash},
                {"stream_hash", streamHash},
                {"order_hash", orderHash},
                {"order_hash_version", orderHashVersion},
                {"vocabularies", std::move(vocabularyList)},
                {"labels", std::move(labelList)}};
}

}  // namespace millrace::stream
