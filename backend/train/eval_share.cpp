#include "backend/train/eval_share.h"

#include <cstring>

namespace millrace::train {
namespace {

template <class T>
void put(std::string& out, const std::vector<T>& values) {
    const std::uint64_t count = values.size();
    out.append(reinterpret_cast<const char*>(&count), sizeof count);
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <class T>
bool take(std::string_view& in, std::vector<T>& values) {
    std::uint64_t count = 0;
    if (in.size() < sizeof count) {
        return false;
    }
    std::memcpy(&count, in.data(), sizeof count);
    in.remove_prefix(sizeof count);
    if (count > in.size() / sizeof(T)) {
        return false;
    }
    values.resize(count);
    std::memcpy(values.data(), in.data(), count * sizeof(T));
    in.remove_prefix(count * sizeof(T));
    return true;
}

}  // namespace

void EvalShare::add(const BatchView& batch, const std::vector<double>& probabilities) {
    const auto rows = static_cast<std::size_t>(batch.rows);
    files_.insert(files_.end(), batch.rowFiles, batch.rowFiles + rows);
    rows_.insert(rows_.end(), batch.rowNumbers, batch.rowNumbers + rows);
    probabilities_.insert(probabilities_.end(), probabilities.begin(), probabilities.end());
    for (std::size_t h = 0; h < heads_.size(); ++h) {
        const HeadColumn& column = batch.heads[h];
        Head& head = heads_[h];
        head.isThere = head.isThere && column.labels != nullptr;
        for (std::size_t r = 0; r < rows; ++r) {
            head.labels.push_back(column.labels ? column.labels[r] : 0);
            head.masks.push_back(column.masks ? column.masks[r] : 1);
        }
    }
}

std::string EvalShare::bytes() const {
    std::string out;
    put(out, files_);
    put(out, rows_);
    put(out, probabilities_);
    for (const Head& head : heads_) {
        out.push_back(head.isThere ? 1 : 0);
        put(out, head.labels);
        put(out, head.masks);
    }
    return out;
}

Status EvalShare::addTo(std::string_view bytes, std::size_t numHeads, Evaluation& evaluation) {
    EvalShare share(numHeads);
    bool isWhole =
        take(bytes, share.files_) && take(bytes, share.rows_) && take(bytes, share.probabilities_);
    for (Head& head : share.heads_) {
        isWhole = isWhole && !bytes.empty();
        if (isWhole) {
            head.isThere = bytes.front() != 0;
            bytes.remove_prefix(1);
            isWhole = take(bytes, head.labels) && take(bytes, head.masks) &&
                      head.labels.size() == share.rows_.size() &&
                      head.masks.size() == share.rows_.size();
        }
    }
    if (!isWhole || share.files_.size() != share.rows_.size() ||
        share.probabilities_.size() != share.rows_.size() * numHeads) {
        return internalError("ranks: a share of the evaluation is not whole");
    }
    if (share.rows_.empty()) {
        return okStatus();
    }
    BatchView batch;
    batch.rows = static_cast<std::int64_t>(share.rows_.size());
    batch.rowFiles = share.files_.data();
    batch.rowNumbers = share.rows_.data();
    for (const Head& head : share.heads_) {
        batch.heads.push_back(
            {head.isThere ? head.labels.data() : nullptr, nullptr, head.masks.data()});
    }
    evaluation.add(batch, share.probabilities_);
    return okStatus();
}

}  // namespace millrace::train
