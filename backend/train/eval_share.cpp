#include "backend/train/eval_share.h"

#include <span>

namespace millrace::train {
namespace {

/// Header of the bytes; a word per head follows, with a bit per flag.
struct Counts {
    std::uint64_t rows = 0, heads = 0;
};
constexpr std::uint64_t kIsThere = 1, kHasMasks = 2;

template <class T>
void put(std::string& out, const std::vector<T>& values) {
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// Takes `count` values from the front of `in`; returns nothing if it holds fewer.
template <class T>
std::span<const T> take(std::string_view& in, std::uint64_t count) {
    if (count > in.size() / sizeof(T)) {
        return {};
    }
    const std::span<const T> values(reinterpret_cast<const T*>(in.data()), count);
    in.remove_prefix(count * sizeof(T));
    return values;
}

template <class T>
void append(std::vector<T>& to, const T* from, std::size_t count) {
    to.insert(to.end(), from, from + count);
}

}  // namespace

void EvalShare::add(const BatchView& batch, const std::vector<double>& probabilities) {
    const auto rows = static_cast<std::size_t>(batch.rows);
    for (std::size_t h = 0; h < heads_.size(); ++h) {
        const HeadColumn& column = batch.heads[h];
        Head& head = heads_[h];
        head.isThere = head.isThere && column.labels != nullptr;
        if (!head.isThere) {
            continue;
        }
        append(head.labels, column.labels, rows);
        if (column.masks != nullptr) {
            head.masks.resize(rows_.size(), 1);
            append(head.masks, column.masks, rows);
        } else if (!head.masks.empty()) {
            head.masks.resize(rows_.size() + rows, 1);
        }
    }
    append(rows_, batch.rowNumbers, rows);
    append(files_, batch.rowFiles, rows);
    append(probabilities_, probabilities.data(), rows * heads_.size());
}

std::string EvalShare::bytes() const {
    const Counts counts{rows_.size(), heads_.size()};
    std::vector<std::uint64_t> kinds;
    for (const Head& head : heads_) {
        kinds.push_back((head.isThere ? kIsThere : 0) | (head.masks.empty() ? 0 : kHasMasks));
    }
    std::string out;
    out.reserve(sizeof counts + heads_.size() * sizeof kinds[0] +
                rows_.size() * (12 + 13 * heads_.size()));
    out.append(reinterpret_cast<const char*>(&counts), sizeof counts);
    put(out, kinds);
    put(out, rows_);
    put(out, probabilities_);
    put(out, files_);
    for (const Head& head : heads_) {
        put(out, head.isThere ? head.labels : std::vector<float>());
    }
    for (const Head& head : heads_) {
        put(out, head.isThere ? head.masks : std::vector<std::uint8_t>());
    }
    return out;
}

Status EvalShare::addTo(std::string_view bytes, std::size_t numHeads, Evaluation& evaluation) {
    const Status broken = internalError("ranks: a share of the evaluation is not whole");
    const auto counts = take<Counts>(bytes, 1);
    if (counts.empty() || counts[0].heads != numHeads ||
        counts[0].rows > bytes.size() / sizeof(std::uint64_t)) {
        return broken;
    }
    const std::uint64_t rows = counts[0].rows;
    const auto kinds = take<std::uint64_t>(bytes, numHeads);
    const auto numbers = take<std::uint64_t>(bytes, rows);
    const auto probabilities = take<double>(bytes, rows * numHeads);
    const auto files = take<std::uint32_t>(bytes, rows);
    if (rows == 0) {
        return okStatus();
    }
    BatchView batch;
    batch.rows = static_cast<std::int64_t>(rows);
    batch.rowFiles = files.data();
    batch.rowNumbers = numbers.data();
    batch.heads.resize(numHeads);
    bool isWhole = !kinds.empty() && !probabilities.empty() && !files.empty();
    for (std::size_t h = 0; isWhole && h < numHeads; ++h) {
        if ((kinds[h] & kIsThere) != 0) {
            batch.heads[h].labels = take<float>(bytes, rows).data();
            isWhole = batch.heads[h].labels != nullptr;
        }
    }
    for (std::size_t h = 0; isWhole && h < numHeads; ++h) {
        if (kinds[h] == (kIsThere | kHasMasks)) {
            batch.heads[h].masks = take<std::uint8_t>(bytes, rows).data();
            isWhole = batch.heads[h].masks != nullptr;
        }
    }
    if (!isWhole || !bytes.empty()) {
        return broken;
    }
    evaluation.add(batch, probabilities);
    return okStatus();
}

}  // namespace millrace::train
