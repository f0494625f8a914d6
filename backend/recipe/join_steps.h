#pragma once
// join, semi_join and anti_join: steps with a side table. Private to the room.
#include <string>

#include "backend/recipe/steps.h"

namespace millrace::recipe {

/// What decides whether two steps look into one table (left types aside): the step, as a line.
std::string tableText(spec::Step step);

Result<StepPtr> compileJoin(const spec::Step& step, const spec::JoinStep& join,
                            const StepPremises& premises);
/// Keeps the rows with a partner, or those without one.
Result<StepPtr> compileMembership(const spec::Step& step, bool keepsMembers,
                                  const StepPremises& premises);

}  // namespace millrace::recipe
