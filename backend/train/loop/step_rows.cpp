#include "backend/train/loop/step_rows.h"

#include <algorithm>

#include "backend/core/status.h"

namespace millrace::train {

void StepRows::clear() {
    files_.clear();
    numbers_.clear();
}

void StepRows::add(const BatchView& batch) {
    if (batch.rowFiles != nullptr) {
        const auto rows = static_cast<std::size_t>(batch.rows);
        files_.insert(files_.end(), batch.rowFiles, batch.rowFiles + rows);
        numbers_.insert(numbers_.end(), batch.rowNumbers, batch.rowNumbers + rows);
    }
}

std::string StepRows::told(const std::vector<std::int64_t>& places,
                           const FileName& fileName) const {
    constexpr std::size_t kMostNamed = 5;
    if (places.empty()) {
        return "";
    }
    std::string text = strCat(places.size(), " of ", files_.size(), " rows");
    for (std::size_t i = 0; i < std::min(places.size(), kMostNamed); ++i) {
        const auto row = static_cast<std::size_t>(places[i]);
        if (row < files_.size()) {
            strAppend(&text, ", ", fileName ? fileName(files_[row]) : strCat("file ", files_[row]),
                      " row ", numbers_[row]);
        }
    }
    return text + (places.size() > kMostNamed ? ", ..." : "");
}

}  // namespace millrace::train
