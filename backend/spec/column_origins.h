#pragma once
// Origins of the columns at the end of a recipe: which are unchanged columns of the dataset, and
// which steps compute a model's features.
//
// Threads: values and pure functions. Failure: none; an expression that cannot be parsed is taken
// as written.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/spec/run_spec.h"

namespace millrace::spec {

class ColumnOrigins {
 public:
    ColumnOrigins() = default;
    /// For the columns after the enabled steps.
    explicit ColumnOrigins(const std::vector<Step>& recipe);

    /// The dataset's column with the same values: itself, or the column that a step renamed. "" for
    /// a column that a step computed or joined.
    std::string of(const std::string& column) const;

 private:
    std::map<std::string, std::string> made_;  ///< by name, for columns that a step made
};

/// Adds the columns that an expression reads; none if it does not parse.
void addColumns(const std::string& text, std::set<std::string>& columns);
/// Adds the columns that a step reads.
void addReads(const Step& step, std::set<std::string>& columns);

/// The inputs of a model from `recipe`, in the order of frames, as JSON. Each feature has `kind`
/// and `name`; ids have the `rows` and `vocabulary` of their table. `steps` are the steps that
/// compute it, one line each; everything else that affects its values is included. Equal inputs
/// have equal JSON: expressions are in canonical form, and what changes no value is left out. That
/// is steps that drop or weigh rows, other columns of a step, and the folders of tables.
/// docs/formats/checkpoint.md describes it.
Json inputsOf(const RunSpec& spec, const std::vector<Step>& recipe);

}  // namespace millrace::spec
