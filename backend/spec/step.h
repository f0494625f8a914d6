#pragma once
// One step of a recipe, of any kind. Threads: a value.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/spec/step_kinds.h"

namespace millrace::spec {

/// One step of a recipe.
struct Step {
    std::string name;  ///< given, or the kind; salt of its random draws
    bool enabled = true;
    StepBody body;

    /// "filter", "join", "semi_join", ...
    std::string_view kind() const;
    /// Null if it is of another kind.
    template <class T>
    const T* as() const {
        return std::get_if<T>(&body);
    }
    /// The step as one line of YAML, as a person would write it: "filter: rating >= 4", "sample:
    /// {where: clicked = 0, keep: 0.1, weight: inverse}". Omits defaults, its name and whether it
    /// is enabled.
    std::string line() const;
    // Properties of its kind: see StepDefaults.
    bool dropsOrWeighs() const;
    bool keepsColumns() const;
    bool makesIds() const;
    bool draws() const;
    StepReads reads() const;
    std::vector<MadeColumn> makes() const;
    const TableLookup* lookup() const;
    bool dropsRows() const;
    bool weighs() const;
    std::string_view handsOn(std::string_view made) const;
    std::int64_t idCount() const;

    static void listKeys(auto& a) {
        a.kind("kind", &Step::body);
        a("name", &Step::name,
          "name by which variations address the step, and salt of its random draws; default: its "
          "kind");
        a("enabled", &Step::enabled, "false leaves the step out");
        a.body(&Step::body);
    }
};

}  // namespace millrace::spec
