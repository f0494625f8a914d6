#pragma once
// YAML text -> RunSpec, first phase: syntax, keys, types, ranges, variations. No schema is needed.
//
// Everything wrong is collected (20 errors at most), each with its place. bind.h does the second
// phase. Threads: a SpecReader is immutable after parse(). Failure: errors as values; no input
// crashes (1 MB, depth 50 and 100,000 nodes at most, aliases counted).
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/expression.h"
#include "backend/spec/run_spec.h"

namespace millrace::spec {

struct SpecError {
    int line = 0,
        column = 0;       ///< from 1 in the YAML text; 0 when it is not there (--set, defaults)
    std::string message;  ///< without the place
    std::string path;     ///< key path, "recipe.sample.keep"; "" for the whole text
    std::string code;     ///< "syntax", "unknown_key", "type", "range", "missing", "duplicate",
                          ///< "expression", "parameter", "unknown_column", "variation", "check",
                          ///< "file", "limit"
    /// "FILE:LINE:COLUMN: message".
    std::string text(std::string_view fileName) const;
    Json toJson() const;
};
using SpecErrors = std::vector<SpecError>;

/// One kInvalidArgument for all of them: a line each, places in front.
Status toStatus(const SpecErrors& errors, std::string_view fileName);

struct SpecOptions {
    std::string fileName = "spec";  ///< for messages only
    std::string baseDir;            ///< written into the RunSpec
    std::vector<std::string> sets;  ///< "key.path=YAML value", applied last
    bool needsLabels = true;        ///< false: `labels` may be missing
};

struct ResolvedSpec {
    std::optional<RunSpec> spec;  ///< absent exactly when there are errors
    SpecErrors errors;
    std::vector<std::string> warnings;
    bool ok() const { return spec.has_value(); }
};

struct YamlNode;

class SpecReader {
 public:
    /// Reads the text and applies `sets`. `errors` is empty exactly when a reader is returned.
    static std::optional<SpecReader> parse(std::string_view text, const SpecOptions& options,
                                           SpecErrors& errors);

    /// The names of the variations, in order.
    const std::vector<std::string>& variations() const { return variations_; }
    /// The base ("") or a variation by name. Call bindSchema on the result before it is run.
    ResolvedSpec resolve(std::string_view variation = "") const;

 private:
    SpecReader() = default;
    std::shared_ptr<const std::string> text_;
    std::shared_ptr<const YamlNode> root_;  ///< as written, without `variations`
    std::shared_ptr<const YamlNode> variationList_;
    std::vector<std::string> variations_;
    SpecOptions options_;
};

/// parse and resolve in one call.
ResolvedSpec readSpec(std::string_view text, const SpecOptions& options = {},
                      std::string_view variation = "");

/// The spec with the rows of eval.dataset as its data, once and in file order, without labels and
/// the steps that only these need. `spec.eval` must be there.
RunSpec evaluationRows(RunSpec spec);

/// The dataset section alone, for what can be said about a spec that has errors elsewhere or is
/// being typed: `where` is left out, a text that breaks off is read up to the broken line. Nothing
/// when the section is missing or wrong itself.
std::optional<DatasetSpec> readDataset(std::string_view text, const SpecOptions& options = {});

/// Where the values of a resolved spec stood in the YAML text, by key path ("recipe[2].keep").
class SourceMap {
 public:
    /// A constant of `params` within a value: bytes of the resolved value, and of the `${...}` that
    /// was written.
    struct Constant {
        std::size_t at = 0, size = 0, writtenAt = 0, writtenSize = 0;
    };
    struct Place {
        std::size_t offset = 0;           ///< byte of the value, its quotes included
        bool isSet = false;               ///< came from --set: it has no place
        std::vector<Constant> constants;  ///< in order
        /// The byte of the written value that byte `offset` of the resolved one comes from.
        std::size_t written(std::size_t offset) const;
    };
    SourceMap(std::shared_ptr<const std::string> text, std::map<std::string, Place> places)
        : text_(std::move(text)), places_(std::move(places)) {}
    /// The place of byte `offset` of the scalar at `path`, or else of what holds it; {0, 0} when
    /// unknown.
    expr::Position find(const std::string& path, std::size_t offset = 0) const;

 private:
    std::shared_ptr<const std::string> text_;
    std::map<std::string, Place> places_;
};

/// The reference of every key and every function: what docs/reference/spec.md holds.
std::string specReference();

/// Every key path of the table ("batch.micro_rows"), for completion.
std::vector<std::string> specKeys();

}  // namespace millrace::spec
