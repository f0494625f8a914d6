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
};

struct EmbeddingSpec {
    std::vector<std::string> features;  ///< id, list, weighted and sequence features that share the
                                        ///< table
    std::int64_t rows = 0;              ///< ids are hashed to [0, rows); 0 only with a vocabulary
    std::int64_t dim = 0;               ///< after resolving: > 0
    std::optional<VocabularySpec> vocabulary;
};

}  // namespace millrace::spec
