#pragma once
// join, semi_join and anti_join: steps with a side table. Private to recipe.
#include <string>

#include "backend/recipe/steps.h"

namespace millrace::recipe {

/// The step as a line; two steps with equal lines use one table (apart from left types).
std::string tableText(spec::Step step);

Result<StepPtr> compileJoin(const spec::Step& step, const spec::JoinStep& join,
                            const StepContext& context);
/// Keeps the rows with a match, or those without one.
Result<StepPtr> compileMembership(const spec::Step& step, bool keepsMembers,
                                  const StepContext& context);

}  // namespace millrace::recipe
