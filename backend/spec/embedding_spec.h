#pragma once
// Embedding tables in a spec. Threads: values.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/spec/table_ref.h"

namespace millrace::spec {

/// The values that have ids; 0 is the id of null and of all others. With a table, the id is 1 + the
/// value's row in it. Without one, the values of the training rows are counted, and ids are
/// assigned by descending count, then by value.
struct VocabularySpec {
    TableRef table;  ///< empty: counted
    std::string column;
    std::string onDuplicate = "error";  ///< or "first": the first of equal rows counts
    std::int64_t minCount = 1;          ///< counted: rarer values have no id
    std::int64_t maxRows = 0;  ///< counted: limit of the embedding's rows, including row 0; 0: none
    std::string hash;          ///< of the counted values; "": from a table, or not counted yet

    bool isCounted() const { return table.empty(); }
    bool isPending() const { return isCounted() && hash.empty(); }

    static void listKeys(auto& a) {
        using S = VocabularySpec;
        a.table(&S::table,
                "the table's files or globs, read as one; absent: values are counted in the "
                "training rows");
        a("column", &S::column, "the table's column of values", {.isSparse = true});
        a("on_duplicate", &S::onDuplicate,
          "a value that occurs twice in the table; first: its first row gives the id",
          {.choices = {"error", "first"}, .isSparse = true});
        a("min_count", &S::minCount, "without `table`: values that occur less often are unknown",
          {.min = 1, .max = 1e15, .isSparse = true});
        a("max_rows", &S::maxRows,
          "without `table`: maximum rows of the embedding, including row 0; the rarest values "
          "beyond it are unknown; 0: no limit",
          {.min = 0, .max = 1e12, .isSparse = true, .unit = "rows"});
        a.json("hash", &S::hash, {.isSparse = true});
    }
};

struct EmbeddingSpec {
    std::vector<std::string> features;  ///< id, list, weighted and sequence features that share the
                                        ///< table
    std::int64_t rows = 0;              ///< ids are hashed to [0, rows); 0 only with a vocabulary
    std::int64_t dim = 0;               ///< after resolving: > 0
    std::optional<VocabularySpec> vocabulary;

    static void listKeys(auto& a) {
        using S = EmbeddingSpec;
        a("features", &S::features,
          "features that share the table; default: the feature with its name");
        a("rows", &S::rows,
          "rows of the table; ids are hashed into this range, unless a step made them",
          {.min = 1, .max = 1e12, .isDerived = true, .unit = "rows"});
        a("dim", &S::dim, "width; default `model.embedding_dim`",
          {.min = 1, .max = 65536, .isDerived = true});
        a("vocabulary", &S::vocabulary,
          "gives known values an id: their position in a table's column or, without `table`, their "
          "position by frequency in the training rows (the most frequent is 1; equal counts in the "
          "values' order). Null and all other values get 0, which has a row in the embedding",
          {.word = "auto"});
    }
};

}  // namespace millrace::spec
