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
    static constexpr bool kDropsOrWeighs = true, kKeepsColumns = true;
    std::string expr;  ///< keeps the rows where it is true

    static void members(auto& a, auto& s) { a("expr", s.expr); }
    static std::vector<Key> keys();
    StepReads reads() const { return {{expr}, {}, {}}; }
    bool dropsRows() const { return true; }
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct WeightStep : StepDefaults {
    static constexpr std::string_view kKind = "weight";
    static constexpr bool kDropsOrWeighs = true, kKeepsColumns = true;
    std::string expr;  ///< factor for the row's weight

    static void members(auto& a, auto& s) { a("expr", s.expr); }
    static std::vector<Key> keys();
    StepReads reads() const { return {{expr}, {}, {}}; }
    bool weighs() const { return true; }
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct DeriveStep : StepDefaults {
    static constexpr std::string_view kKind = "derive";
    std::vector<NamedExpr> columns;  ///< each sees the columns before the step, not its siblings

    static void members(auto& a, auto& s) { a("columns", s.columns); }
    static std::vector<Key> keys();
    StepReads reads() const;
    std::vector<MadeColumn> makes() const;
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct JoinStep : StepDefaults, TableLookup {
    static constexpr std::string_view kKind = "join";
    std::optional<AsOf> asOf;           ///< in the JSON only if given
    std::string onDuplicate = "error";  ///< or "first"
    std::string missing = "null";       ///< or "drop"
    std::vector<NamedExpr> take;        ///< over the table's columns

    static void members(auto& a, auto& s) {
        a.table(s.table);
        a("on", s.on);
        a.whenGiven("as_of", s.asOf);
        a("on_duplicate", s.onDuplicate);
        a("missing", s.missing);
        a("take", s.take);
    }
    static std::vector<Key> keys();
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

    static void members(auto& a, auto& s) {
        a.table(s.table);
        a("on", s.on);
    }
    StepReads reads() const;
    const TableLookup* lookup() const { return this; }
    bool dropsRows() const { return true; }
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct SemiJoinStep : MembershipStep {
    static constexpr std::string_view kKind = "semi_join";
    static std::vector<Key> keys();
};

struct AntiJoinStep : MembershipStep {
    static constexpr std::string_view kKind = "anti_join";
    static std::vector<Key> keys();
};

struct SampleStep : StepDefaults {
    static constexpr std::string_view kKind = "sample";
    static constexpr bool kDropsOrWeighs = true, kKeepsColumns = true, kDraws = true;
    std::string where;               ///< which rows draw ("": all); other rows are kept
    double keep = 1;                 ///< 0 < keep <= 1
    bool isInverseWeighted = false;  ///< JSON `weight`: "inverse" or "none"
    std::vector<std::string> by;     ///< empty: by file and row
    bool redrawEachEpoch = false;    ///< JSON `redraw`: "each_epoch" or "never"

    static void members(auto& a, auto& s) {
        a("where", s.where);
        a("keep", s.keep);
        a.choice("weight", s.isInverseWeighted, "inverse", "none");
        a("by", s.by);
        a.choice("redraw", s.redrawEachEpoch, "each_epoch", "never");
    }
    static std::vector<Key> keys();
    StepReads reads() const { return {{where}, {}, by}; }
    bool dropsRows() const { return keep < 1; }
    bool weighs() const { return isInverseWeighted && keep < 1; }
    void check(const StepPlace& place) const;
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct HashStep : StepDefaults {
    static constexpr std::string_view kKind = "hash";
    static constexpr bool kMakesIds = true;
    std::string column, as;    ///< `as` defaults to `column`
    std::int64_t buckets = 0;  ///< 0 is null, else 1 + h mod (buckets - 1)
    std::uint64_t seed = 0;

    static void members(auto& a, auto& s) {
        a("column", s.column);
        a("as", s.as);
        a("buckets", s.buckets);
        a("seed", s.seed);
    }
    static std::vector<Key> keys();
    StepReads reads() const { return {{}, {}, {column}}; }
    std::vector<MadeColumn> makes() const { return {{as, "", false}}; }
    std::int64_t idCount() const { return buckets; }
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct BucketizeStep : StepDefaults {
    static constexpr std::string_view kKind = "bucketize";
    static constexpr bool kMakesIds = true;
    std::string column, as;          ///< `as` defaults to `column`
    std::vector<double> boundaries;  ///< 0 is null, else 1 + boundaries <= x

    static void members(auto& a, auto& s) {
        a("column", s.column);
        a("as", s.as);
        a("boundaries", s.boundaries);
    }
    static std::vector<Key> keys();
    StepReads reads() const { return {{}, {}, {column}}; }
    std::vector<MadeColumn> makes() const { return {{as, "", false}}; }
    std::int64_t idCount() const { return static_cast<std::int64_t>(boundaries.size()) + 2; }
    void check(const StepPlace& place) const;
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct TruncateStep : StepDefaults {
    static constexpr std::string_view kKind = "truncate";
    std::string column, as;      ///< `as` defaults to `column`
    std::int64_t length = 0;     ///< number of elements to keep
    std::string from = "first";  ///< or "last"

    static void members(auto& a, auto& s) {
        a("column", s.column);
        a("as", s.as);
        a("length", s.length);
        a("from", s.from);
    }
    static std::vector<Key> keys();
    StepReads reads() const { return {{}, {}, {column}}; }
    std::vector<MadeColumn> makes() const { return {{as, "", false}}; }
    std::string_view handsOn(std::string_view made) const {
        return made == as ? std::string_view(column) : "";
    }
    void type(StepTyper& typer) const;
    std::string text() const;
};

struct SelectStep : StepDefaults {
    static constexpr std::string_view kKind = "select";
    std::vector<std::string> columns;  ///< the columns that later steps and features may use

    static void members(auto& a, auto& s) { a("columns", s.columns); }
    static std::vector<Key> keys();
    void type(StepTyper& typer) const;
    std::string text() const;
};

using StepBody =
    std::variant<FilterStep, JoinStep, SemiJoinStep, AntiJoinStep, SampleStep, DeriveStep,
                 WeightStep, HashStep, BucketizeStep, TruncateStep, SelectStep>;

/// A step of that kind with its defaults; absent for an unknown kind.
std::optional<StepBody> stepBodyOf(std::string_view kind);
std::vector<std::string> stepKindNames();
/// The keys of all kinds, in the order of the reference.
std::vector<Key> stepKindKeys();

}  // namespace millrace::spec
