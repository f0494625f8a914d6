#include "backend/segment/row_counts.h"

#include <algorithm>

namespace millrace::segment {

void RowCounts::add(const RowCounts& other) {
    rowsScanned += other.rowsScanned;
    rowsPruned += other.rowsPruned;
    rowsKept += other.rowsKept;
    steps.resize(std::max(steps.size(), other.steps.size()));
    for (std::size_t s = 0; s < other.steps.size(); ++s) {
        steps[s].add(other.steps[s]);
    }
    vocabularies.resize(std::max(vocabularies.size(), other.vocabularies.size()));
    for (std::size_t v = 0; v < other.vocabularies.size(); ++v) {
        vocabularies[v].add(other.vocabularies[v]);
    }
    labels.resize(std::max(labels.size(), other.labels.size()));
    for (std::size_t h = 0; h < other.labels.size(); ++h) {
        labels[h].add(other.labels[h]);
    }
}

}  // namespace millrace::segment
