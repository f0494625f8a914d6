#pragma once
// What the columns at the end of a recipe are made of: which are the dataset's own, as they stand,
// and which steps compute the features that a model is given.
//
// Threads: values and pure functions. Failure: none; an expression that cannot be parsed is taken
// as it is written.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/spec/run_spec.h"

namespace millrace::spec {

class ColumnOrigins {
 public:
    ColumnOrigins() = default;
    /// Of what the enabled steps leave.
    explicit ColumnOrigins(const std::vector<Step>& recipe);

    /// The dataset's column whose values the column has: itself, or the one that a step gave
    /// another name. "" for what a step computed or joined.
    std::string of(const std::string& column) const;

 private:
    std::map<std::string, std::string> made_;  ///< by name, of columns that a step made
};

/// Adds the columns that a step reads.
void addReads(const Step& step, std::set<std::string>& columns);

/// The inputs that `recipe` gives a model, in the order of frames, as JSON: of each feature `kind`
/// and `name`, of ids `rows` and `vocabulary` of their table, what else decides its values, and
/// `steps`: the steps that compute it, a line each. Equal inputs have equal JSON: expressions are
/// written in one way, and left out is what changes no value (steps that drop or weigh rows, other
/// columns of a step, the folders of tables). docs/formats/checkpoint.md describes it.
Json inputsOf(const RunSpec& spec, const std::vector<Step>& recipe);

}  // namespace millrace::spec
