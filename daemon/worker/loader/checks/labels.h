#pragma once
// A look at the labels of training or of evaluation: a head with one class only cannot be learnt,
// and figures such as AUC cannot be told of it. A comparison takes NaN for the greatest number, so
// a label may be true for rows whose value is not known.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

struct LabelFinding {
    std::string head;
    std::string message;     ///< without the place, unless `isPlaced`
    bool isCertain = false;  ///< all rows were looked at
    bool isNan = false;      ///< columns that it reads hold NaN; the message is whole
    bool isPlaced = false;   ///< the message begins with the key of the spec that is to change
    bool isJoin = false;     ///< no row found a partner; `head` is the step, the message is whole
};

/// Most bytes decoded for a spec that is only checked.
inline constexpr std::int64_t kCheckBytes = 200'000'000;

struct LabelCheckOptions {
    std::int64_t mostBytes = kCheckBytes;
    /// At the end of the recipe: NaN is looked for in those that labels read, and joins without a
    /// partner are found. Null: neither.
    const expr::Schema* columns = nullptr;
};

/// A sentence for each join, by step, in which none of the rows found a partner. `steps`: counts of
/// the recipe's steps. `rows`: what they are called.
std::map<std::string, std::string> lonelyJoins(const recipe::CompiledRecipe& recipe,
                                               const std::vector<recipe::StepCount>& steps,
                                               std::string_view rows);

/// Reads label columns split after split until every head has shown two values, or about
/// `mostBytes` of data are decoded. A step that keeps no row is the only finding. Heads without a
/// finding are fine; the rows after them are the run's own to judge. Failure: data errors, a label
/// outside of 0 to 1 among them.
Result<std::vector<LabelFinding>> checkLabels(const spec::RunSpec& spec, const stream::Plan& plan,
                                              recipe::Part part,
                                              const LabelCheckOptions& wanted = {});

}  // namespace millrace::loader
