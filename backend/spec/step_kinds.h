#pragma once
// The kinds of recipe steps, one struct each: members and properties.
//
// A new kind needs a struct here with its place in StepBody, its definitions in step_kinds.cpp
// (table_steps.cpp for a kind that uses a table), and its execution in backend/recipe/steps.cpp.
// Expressions are text. Threads: values.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/spec/key_table.h"
#include "backend/spec/step_defaults.h"

namespace millrace::spec {

struct FilterStep : StepDefaults {
    static constexpr std::string_view kKind = "filter";
    static constexpr bool kDropsOrWeighs = true, kKeepsColumns = true, kIsPlain = true;
    std::string expr;

    static void listKeys(auto& a) {
        a("expr", &FilterStep::expr, "keeps the rows where the expression is true",
          {.type = KeyType::kExpr});
    }
    StepReads reads() const { return {{expr}, {}, {}}; }
    bool dropsRows() const { return true; }
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct WeightStep : StepDefaults {
    static constexpr std::string_view kKind = "weight";
    static constexpr bool kDropsOrWeighs = true, kKeepsColumns = true, kIsPlain = true;
    std::string expr;

    static void listKeys(auto& a) {
        a("expr", &WeightStep::expr, "multiplies the row's weight; null is an error",
          {.type = KeyType::kExpr});
    }
    StepReads reads() const { return {{expr}, {}, {}}; }
    bool weighs() const { return true; }
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct DeriveStep : StepDefaults {
    static constexpr std::string_view kKind = "derive";
    static constexpr bool kIsPlain = true;
    std::vector<NamedExpr> columns;

    static void listKeys(auto& a) {
        a("columns", &DeriveStep::columns,
          "new or replaced columns, `name: expression`; each sees the columns before the step");
    }
    StepReads reads() const;
    std::vector<MadeColumn> makes() const;
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct JoinStep : StepDefaults, TableLookup {
    static constexpr std::string_view kKind = "join";
    static constexpr std::string_view kDoc =
        "adds columns of the row's partner in a table; nulls if it has no partner";
    std::vector<NamedExpr> take;
    std::optional<AsOf> asOf;
    std::string onDuplicate = "error", missing = "null";

    static void listKeys(auto& a) {
        using S = JoinStep;
        TableLookup::listKeys(a,
                              "the join keys: a column, a list of columns, or `column or "
                              "expression of the row: column of the table`; null never matches");
        a("take", &S::take,
          "the columns to add: a list of the table's columns, or `name: expression` over them",
          {.isRequired = true});
        a("as_of", &S::asOf,
          "joins the newest of the table's rows with equal keys that is not newer than the row",
          {.isSparse = true});
        a("on_duplicate", &S::onDuplicate,
          "what to do if a key (with as_of: a key and time) occurs twice in the table: report an "
          "error, or take its first row",
          {.choices = {"error", "first"}});
        a("missing", &S::missing,
          "rows without a partner; null: the added columns are null; drop: the row is dropped",
          {.choices = {"null", "drop"}});
    }
    StepReads reads() const;
    std::vector<MadeColumn> makes() const;
    const TableLookup* lookup() const { return this; }
    bool dropsRows() const { return missing == "drop"; }
    void keepAllRows() { missing = "null"; }
    void type(StepTyper& typer) const;
    std::string text() const;
};

/// Keeps rows with a match in a table, or those without one.
struct MembershipStep : StepDefaults, TableLookup {
    static constexpr bool kDropsOrWeighs = true, kKeepsColumns = true;

    static void listKeys(auto& a) { TableLookup::listKeys(a, "the keys, as in a join"); }
    StepReads reads() const;
    const TableLookup* lookup() const { return this; }
    bool dropsRows() const { return true; }
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct SemiJoinStep : MembershipStep {
    static constexpr std::string_view kKind = "semi_join";
    static constexpr std::string_view kDoc = "keeps the rows that have a partner in the table";
};

struct AntiJoinStep : MembershipStep {
    static constexpr std::string_view kKind = "anti_join";
    static constexpr std::string_view kDoc = "drops the rows that have a partner in the table";
};

struct SampleStep : StepDefaults {
    static constexpr std::string_view kKind = "sample";
    static constexpr std::string_view kDoc =
        "keeps a part of the rows, by reproducible random draws";
    static constexpr bool kDropsOrWeighs = true, kKeepsColumns = true, kDraws = true;
    std::string where;
    double keep = 1;
    bool isInverseWeighted = false;
    std::vector<std::string> by;
    bool redrawEachEpoch = false;

    static void listKeys(auto& a) {
        using S = SampleStep;
        a("where", &S::where, "rows that take part in the draw; the others are kept",
          {.type = KeyType::kExpr});
        a("keep", &S::keep,
          "probability that a row is kept; rows kept with a smaller value are also kept with a "
          "larger one",
          {.min = 0, .max = 1, .isRequired = true, .isMinExcluded = true});
        a.choice("weight", &S::isInverseWeighted, "inverse", "none",
                 "inverse: multiplies the weight of the rows that the draw kept by 1 / keep");
        a("by", &S::by, "columns whose values decide the draw; default: the row's file and number");
        a.choice("redraw", &S::redrawEachEpoch, "each_epoch", "never",
                 "each_epoch: a new draw in every epoch");
    }
    StepReads reads() const { return {{where}, {}, by}; }
    bool dropsRows() const { return keep < 1; }
    bool weighs() const { return isInverseWeighted && keep < 1; }
    void check(const StepPlace& place) const;
    void type(StepTyper& typer) const;
    std::string text() const;
};

/// Makes a column from another one.
struct ColumnStep : StepDefaults {
    std::string column, as;

    static void listKeys(auto& a, std::string_view columnDoc) {
        a("column", &ColumnStep::column, columnDoc, {.isRequired = true});
        a("as", &ColumnStep::as, "name of the new column; default: replaces `column`");
    }
    StepReads reads() const { return {{}, {}, {column}}; }
    std::vector<MadeColumn> makes() const { return {{as, "", false}}; }
};

struct HashStep : ColumnStep {
    static constexpr std::string_view kKind = "hash";
    static constexpr std::string_view kDoc =
        "ids from values: 0 for null, else 1 + h mod (buckets - 1)";
    static constexpr bool kMakesIds = true;
    std::int64_t buckets = 0;
    std::uint64_t seed = 0;

    static void listKeys(auto& a) {
        using S = HashStep;
        ColumnStep::listKeys(a, "column to hash; for a list, its elements");
        a("buckets", &S::buckets, "number of ids", {.min = 2, .max = 1e12, .isRequired = true});
        a("seed", &S::seed, "seed of the hash; other seeds give other ids");
    }
    std::int64_t idCount() const { return buckets; }
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct BucketizeStep : ColumnStep {
    static constexpr std::string_view kKind = "bucketize";
    static constexpr std::string_view kDoc =
        "ids from numbers: 0 for null, else 1 + the number of boundaries <= the value";
    static constexpr bool kMakesIds = true;
    std::vector<double> boundaries;

    static void listKeys(auto& a) {
        using S = BucketizeStep;
        ColumnStep::listKeys(a, "a column of numbers");
        a("boundaries", &S::boundaries, "the boundaries, in ascending order", {.isRequired = true});
    }
    std::int64_t idCount() const { return static_cast<std::int64_t>(boundaries.size()) + 2; }
    void check(const StepPlace& place) const;
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct TruncateStep : ColumnStep {
    static constexpr std::string_view kKind = "truncate";
    static constexpr std::string_view kDoc = "shortens lists to at most `length` elements";
    std::int64_t length = 0;
    std::string from = "first";

    static void listKeys(auto& a) {
        using S = TruncateStep;
        ColumnStep::listKeys(a, "a column of lists");
        a("length", &S::length, "maximum number of elements",
          {.min = 0, .max = 1e9, .isRequired = true});
        a("from", &S::from, "which elements are kept", {.choices = {"first", "last"}});
    }
    std::string_view handsOn(std::string_view made) const {
        return made == as ? std::string_view(column) : "";
    }
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct SelectStep : StepDefaults {
    static constexpr std::string_view kKind = "select";
    static constexpr bool kIsPlain = true;
    std::vector<std::string> columns;

    static void listKeys(auto& a) {
        a("columns", &SelectStep::columns, "the columns that later steps and features may use");
    }
    void type(StepTyper& typer) const;
    std::string text() const;
};

using StepBody =
    std::variant<FilterStep, WeightStep, DeriveStep, JoinStep, SemiJoinStep, AntiJoinStep,
                 SampleStep, HashStep, BucketizeStep, TruncateStep, SelectStep>;

/// A step of that kind with its defaults; absent for an unknown kind.
std::optional<StepBody> stepBodyOf(std::string_view kind);
std::vector<std::string> stepKindNames();
/// One of each kind, with its defaults.
const std::vector<StepBody>& allStepKinds();
std::string_view stepKind(const StepBody& body);

}  // namespace millrace::spec
