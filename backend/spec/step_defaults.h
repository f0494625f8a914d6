#pragma once
// What steps of a recipe are made of, and what a kind of step says of itself unless it says
// otherwise. Threads: values.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/spec/table_ref.h"

namespace millrace::spec {

class Problems;
class StepTyper;
struct Step;

/// A column of the rows, or an expression over them, and the column of the table it must equal.
struct JoinKey {
    std::string left, right;
};

/// `name: expression`, in the order written.
struct NamedExpr {
    std::string name, expr;
};

struct AsOf {
    std::string left, right;  ///< the times: of the rows, as a join key's left, and of the table
    double tolerance = 0;     ///< oldest allowed: seconds, or the integers' own unit; 0: any
};

/// What a step looks up in a side table.
struct TableLookup {
    TableRef table;
    std::vector<JoinKey> on;
};

/// What a step reads of the rows.
struct StepReads {
    std::vector<std::string> expressions;
    std::vector<std::string> lookedUp;  ///< each a column, or an expression over the rows
    std::vector<std::string> columns;
};

/// A column that a step makes.
struct MadeColumn {
    std::string name;
    std::string expr;        ///< "" where no expression makes it
    bool isOfTable = false;  ///< the expression is over the side table's columns
};

/// Where errors about one step go, and what is worth to know of it.
struct StepPlace {
    const Step& step;
    std::string path;  ///< "recipe[2]"
    Problems& problems;
    std::vector<std::string>& warnings;
};

/// What a kind says of itself unless it says otherwise.
struct StepDefaults {
    /// Drops or weighs rows: left out of evaluation.
    static constexpr bool kDropsOrWeighs = false;
    /// Rows keep all the columns that they had, as they were.
    static constexpr bool kKeepsColumns = false;
    /// Its values are ids already: they are not hashed again.
    static constexpr bool kMakesIds = false;
    /// Draws numbers: its name is their salt.
    static constexpr bool kDraws = false;

    StepReads reads() const { return {}; }
    std::vector<MadeColumn> makes() const { return {}; }
    const TableLookup* lookup() const { return nullptr; }
    /// Rows may be left out in training.
    bool dropsRows() const { return false; }
    /// Rows get weights other than 1.
    bool weighs() const { return false; }
    /// The column whose ids it hands on as `made`; "" where it makes them itself.
    std::string_view handsOn(std::string_view /*made*/) const { return ""; }
    /// The number of ids that it can make; of those that make ids.
    std::int64_t idCount() const { return 0; }
    /// As in evaluation, where no row is dropped.
    void keepAllRows() {}
    /// What must fit together, before columns are known.
    void check(const StepPlace& /*place*/) const {}
};

}  // namespace millrace::spec
