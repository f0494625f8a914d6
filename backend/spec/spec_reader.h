#pragma once
// YAML text -> RunSpec, first phase: syntax, keys, types, ranges, variations. Needs no schema.
//
// Collects all errors (at most 20), each with its position; bind.h does the second phase.
// Threads: a SpecReader is immutable after parse(). Failure: errors as values; no input crashes (at
// most 1 MB, depth 50 and 100,000 nodes, including aliases).
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
        column = 0;       ///< from 1 in the YAML text; 0: not in it (--set, defaults)
    std::string message;  ///< without the position
    std::string path;     ///< key path, "recipe.sample.keep"; "" for the whole text
    std::string code;     ///< "syntax", "unknown_key", "type", "range", "missing", "duplicate",
                          ///< "expression", "parameter", "unknown_column", "variation", "check",
                          ///< "file", "limit"
    /// "FILE:LINE:COLUMN: message".
    std::string text(std::string_view fileName) const;
    Json toJson() const;
};
using SpecErrors = std::vector<SpecError>;

/// One kInvalidArgument for all errors: a line each, beginning with the position.
Status toStatus(const SpecErrors& errors, std::string_view fileName);

struct SpecOptions {
    std::string fileName = "spec";  ///< for messages only
    std::string baseDir;            ///< written into the RunSpec
    std::vector<std::string> sets;  ///< "key.path=YAML value", applied last
    bool needsLabels = true;        ///< false: `labels` may be missing
    bool needsFeatures = true;      ///< false: `features` may be missing
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

/// Calls parse and resolve.
ResolvedSpec readSpec(std::string_view text, const SpecOptions& options = {},
                      std::string_view variation = "");

/// The spec with the rows of eval.dataset as its data, once and in file order, without labels and
/// the steps that only labels need. `spec.eval` must be set.
RunSpec evaluationRows(RunSpec spec);

/// Only the dataset section, for a spec that has errors elsewhere or is being typed. Ignores
/// `where`, and reads a truncated text up to the broken line. Returns nothing if the section is
/// missing or invalid itself.
std::optional<DatasetSpec> readDataset(std::string_view text, const SpecOptions& options = {});

/// Positions of a resolved spec's values in the YAML text, by key path ("recipe[2].keep").
class SourceMap {
 public:
    /// A constant of `params` within a value: bytes of the resolved value, and of the written
    /// `${...}`.
    struct Constant {
        std::size_t at = 0, size = 0, writtenAt = 0, writtenSize = 0;
    };
    struct Place {
        std::size_t offset = 0;           ///< byte of the value, including its quotes
        bool isSet = false;               ///< from --set: no position
        std::vector<Constant> constants;  ///< in order
        /// Maps byte `offset` of the resolved value to a byte of the written value.
        std::size_t written(std::size_t offset) const;
    };
    SourceMap(std::shared_ptr<const std::string> text, std::map<std::string, Place> places)
        : text_(std::move(text)), places_(std::move(places)) {}
    /// Position of byte `offset` of the scalar at `path`, or else of its parent; {0, 0} if unknown.
    expr::Position find(const std::string& path, std::size_t offset = 0) const;

 private:
    std::shared_ptr<const std::string> text_;
    std::map<std::string, Place> places_;
};

/// The reference of every key and every function, for docs/reference/spec.md.
std::string specReference();

/// Every key path of the table ("batch.micro_rows"), for completion.
std::vector<std::string> specKeys();

}  // namespace millrace::spec
