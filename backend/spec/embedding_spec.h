#pragma once
// Tables of embeddings, as a spec has them. Threads: values.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/spec/table_ref.h"

namespace millrace::spec {

struct VocabularySpec {
    TableRef table;
    std::string column;  ///< id = 1 + row of the value in the table, 0 when absent or null
};

struct EmbeddingSpec {
    std::vector<std::string> features;  ///< id, list, weighted and sequence features that share it
    std::int64_t rows = 0;              ///< ids are hashed into [0, rows); 0 only with a vocabulary
    std::int64_t dim = 0;               ///< after resolving: > 0
    std::optional<VocabularySpec> vocabulary;
};

}  // namespace millrace::spec
