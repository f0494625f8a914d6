#pragma once
// The parts of recipe steps, and the default properties of a step kind. Threads: values.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/spec/table_ref.h"

namespace millrace::spec {

class Problems;
class StepTyper;
struct Step;

/// A column of the rows, or an expression over them, and the table column that must equal it.
struct JoinKey {
    std::string left, right;

    static void listKeys(auto& a) {
        a.json("left", &JoinKey::left);
        a.json("right", &JoinKey::right);
    }
};

/// `name: expression`, in the order written.
struct NamedExpr {
    std::string name, expr;

    static void listKeys(auto& a) {
        a.json("name", &NamedExpr::name);
        a.json("expr", &NamedExpr::expr);
    }
};

struct AsOf {
    std::string left, right;
    double tolerance = 0;

    static void listKeys(auto& a) {
        using S = AsOf;
        a("left", &S::left, "the row's time: a column or an expression", {.isRequired = true});
        a("right", &S::right, "the table's time: a column or an expression", {.isRequired = true});
        a("tolerance", &S::tolerance,
          "how much older the table's row may be: in seconds for dates and timestamps, for "
          "integers in their own unit; 0: any age",
          {.min = 0, .max = kMostRows});
    }
};

/// A step's lookup in a side table.
struct TableLookup {
    TableRef table;
    std::vector<JoinKey> on;

    static void listKeys(auto& a, std::string_view onDoc) {
        a.table(&TableLookup::table, "the table's files or globs, read as one",
                {.isRequired = true});
        a("on", &TableLookup::on, onDoc, {.isRequired = true});
    }
};

/// The expressions and columns that a step reads from the rows.
struct StepReads {
    std::vector<std::string> expressions;
    std::vector<std::string> lookedUp;  ///< each a column, or an expression over the rows
    std::vector<std::string> columns;
    std::vector<std::string> ofTable = {};  ///< as `lookedUp`, over a side table's columns
};

/// A column that a step makes.
struct MadeColumn {
    std::string name;
    std::string expr;        ///< "" if no expression makes it
    bool isOfTable = false;  ///< the expression uses the side table's columns
};

/// A step's position, and the lists that take its errors and warnings.
struct StepPlace {
    const Step& step;
    std::string path;  ///< "recipe[2]"
    Problems& problems;
    std::vector<std::string>& warnings;
};

/// Default properties of a step kind.
struct StepDefaults {
    /// Drops or weighs rows: evaluation omits it.
    static constexpr bool kDropsOrWeighs = false;
    /// Rows keep all their columns unchanged.
    static constexpr bool kKeepsColumns = false;
    /// Its values already are ids: they are not hashed again.
    static constexpr bool kMakesIds = false;
    /// Draws random numbers: its name is their salt.
    static constexpr bool kDraws = false;
    /// Its one key is the kind itself: `filter: x > 0`.
    static constexpr bool kIsPlain = false;
    /// The words of the reference, unless it is plain.
    static constexpr std::string_view kDoc = "";

    StepReads reads() const { return {}; }
    std::vector<MadeColumn> makes() const { return {}; }
    const TableLookup* lookup() const { return nullptr; }
    /// Whether training may drop rows.
    bool dropsRows() const { return false; }
    /// Whether rows get weights other than 1.
    bool weighs() const { return false; }
    /// The column whose ids it passes on as `made`; "" if it makes them itself.
    std::string_view handsOn(std::string_view /*made*/) const { return ""; }
    /// The number of ids that it can make, for kinds that make ids.
    std::int64_t idCount() const { return 0; }
    /// Switches to the behaviour of evaluation, where no row is dropped.
    void keepAllRows() {}
    /// Checks what must fit together, before columns are known.
    void check(const StepPlace& /*place*/) const {}
};

}  // namespace millrace::spec
