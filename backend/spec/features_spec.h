#pragma once
// `labels` and `features`: what a model learns, and the columns that it sees. Threads: values.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/spec/key_table.h"

namespace millrace::spec {

struct LabelSpec {
    std::string expr;    ///< bool or a number in [0, 1]
    std::string weight;  ///< "" is 1
    std::string where;   ///< "" is every row; other rows are masked for this head

    static void listKeys(auto& a) {
        using S = LabelSpec;
        a("expr", &S::expr,
          "true or false, or a number from 0 to 1; a result that is null or NaN is masked and "
          "counted. A comparison treats NaN as the greatest number: `delay > 15` is true for it",
          {.type = KeyType::kExpr, .isRequired = true});
        a("weight", &S::weight, "the row's weight for this head in training; default 1",
          {.type = KeyType::kExpr});
        a("where", &S::where, "rows that count for this head; default all",
          {.type = KeyType::kExpr});
    }
};

struct DenseFeature {
    std::string column;
    double fill = 0;  ///< instead of null

    static void listKeys(auto& a) {
        a.json("column", &DenseFeature::column);
        a.json("fill", &DenseFeature::fill);
    }
};

/// Two list columns of equal lengths.
struct WeightedFeature {
    std::string name, ids, weights;

    static void listKeys(auto& a) {
        using S = WeightedFeature;
        a("name", &S::name, "the feature's name; default: the ids' column");
        a("ids", &S::ids, "list column of ids", {.isRequired = true});
        a("weights", &S::weights, "list column of weights, with the same lengths",
          {.isRequired = true});
    }
};

struct SequenceFeature {
    std::vector<std::string> columns;
    std::string time, before;  ///< "": none; `before` requires `time`
    std::int64_t last = 0;

    static void listKeys(auto& a) {
        using S = SequenceFeature;
        a("columns", &S::columns,
          "the list columns, oldest element first: integers and strings are ids, floats and times "
          "are passed on",
          {.isRequired = true});
        a("time", &S::time,
          "list column of the elements' times, with the same lengths; default: the only list of "
          "times among `columns`");
        a("before", &S::before,
          "column with the row's time; keeps only elements with an earlier time (needs `time`)");
        a("last", &S::last, "number of last elements to keep, after `before`; 0: all",
          {.min = 0, .max = 1e9});
    }
};

struct FeaturesSpec {
    std::vector<DenseFeature> dense;
    std::vector<std::string> vectors, ids, lists, carry;
    std::map<std::string, std::int64_t> vectorSizes;  ///< of `vectors` whose type has no size
    std::vector<WeightedFeature> weighted;
    std::map<std::string, SequenceFeature> sequences;
    std::string request, user;  ///< "": none
    std::string dedup = "best_effort";

    static void listKeys(auto& a) {
        using S = FeaturesSpec;
        a("dense", &S::dense,
          "numbers and bools, as float: columns, patterns like \"d*\", or {column: x, fill: 0} "
          "with a value instead of null");
        a("vectors", &S::vectors, "float lists of one size, or {column: x, size: 64}",
          {.type = KeyType::kVectors});
        a.json("vector_sizes", &S::vectorSizes, {.isSparse = true});
        a("ids", &S::ids, "one id a row, embedded; patterns allowed");
        a("lists", &S::lists, "lists of ids, embedded and summed; patterns allowed");
        a("weighted", &S::weighted, "lists of ids with weights");
        a("sequences", &S::sequences, "aligned lists with one set of offsets, by name");
        a("carry", &S::carry, "columns passed through untouched; patterns allowed");
        a("request", &S::request, "column that has the same value in adjacent rows of one request");
        a("user", &S::user,
          "column with the user of a row: `millrace stream` and the run's metrics then report the "
          "share of the largest user in a micro-batch",
          {.isSparse = true});
        a("dedup", &S::dedup,
          "with `features.request`, stores lists once for each request. required: all list "
          "columns, and a list that changes within a request is an error; best_effort: the list "
          "columns that do not change within a request in the first rows of the plan; off: none",
          {.choices = {"required", "best_effort", "off"}});
    }
};

}  // namespace millrace::spec
