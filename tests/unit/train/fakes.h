#pragma once
// A stream in memory and a daemon that only listens, for the trainer's tests.
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/philox.h"
#include "backend/train/trainer.h"
#include "tests/unit/train/recording_reporter.h"
#include "tests/unit/train/scratch.h"

namespace millrace::train::test {

/// Owns the columns of one micro-batch with two dense values, a user, an item and a list of tags.
struct Columns {
    std::vector<float> dense, labels, weights;
    std::vector<std::int64_t> users, items, tags, offsets{0};
    std::vector<std::uint8_t> masks;
    std::vector<std::uint32_t> files;
    std::vector<std::uint64_t> numbers;

    void addRow(std::uint64_t seed, std::uint64_t row) {
        const auto draw = [&](std::uint64_t what) { return philox64(seed, what, row); };
        const auto user = static_cast<std::int64_t>(draw(1) % 20);
        const auto item = static_cast<std::int64_t>(draw(2) % 30);
        dense.push_back(static_cast<float>(1000 + 50 * unitInterval(draw(3))));
        dense.push_back(static_cast<float>(unitInterval(draw(4))));
        users.push_back(user);
        items.push_back(item);
        for (std::uint64_t t = 0; t < draw(5) % 4; ++t) {
            tags.push_back(static_cast<std::int64_t>(draw(6 + t) % 7));
        }
        offsets.push_back(static_cast<std::int64_t>(tags.size()));
        const bool liked = user % 5 + item % 4 >= 4;
        labels.push_back(unitInterval(draw(20)) < (liked ? 0.9 : 0.1) ? 1.0F : 0.0F);
        weights.push_back(1.0F + static_cast<float>(draw(21) % 3));
        masks.push_back(draw(22) % 8 == 0 ? 0 : 1);
        files.push_back(static_cast<std::uint32_t>(row >> 32));
        numbers.push_back(row & 0xffffffffU);
    }
    BatchView view(std::size_t heads = 1) const {
        BatchView batch;
        batch.rows = static_cast<std::int64_t>(users.size());
        batch.dense = {{dense.data(), 2}};
        batch.ids = {{users.data()}, {items.data()}, {tags.data(), offsets.data()}};
        batch.heads.assign(heads, {labels.data(), weights.data(), masks.data()});
        batch.rowFiles = files.data();
        batch.rowNumbers = numbers.data();
        return batch;
    }
};

inline Columns rowsOf(std::uint64_t seed, std::uint64_t from, std::uint64_t to) {
    Columns out;
    for (std::uint64_t row = from; row < to; ++row) {
        out.addRow(seed, row);
    }
    return out;
}

/// A stream of `rows` rows an epoch in micro-batches of `microRows`.
struct MemoryStream {
    std::uint64_t rows = 300, microRows = 16;
    std::int64_t epochs = 2;
    std::int64_t stopAfter = -1;  ///< micro-batches until next() says kStopped
    bool goesBack = false;        ///< gives micro-batch 2 instead of 3
    std::int64_t perStep = 4;
    int rank = 0, worldSize = 1;
    std::optional<float> label;  ///< of every row
    std::int64_t badRow = -1;    ///< of the first epoch: its label is NaN
    int numLosses = 0;           ///< opened streams that are lost after their first micro-batch
    int numOpened = 0, numWaits = 0;
    std::function<void()> onNext;  ///< before each next()

    std::int64_t batchesOfEpoch() const {
        return static_cast<std::int64_t>((rows + microRows - 1) / microRows);
    }
};

class MemorySource final : public BatchSource {
 public:
    MemorySource(MemoryStream& stream, std::uint64_t seed, std::int64_t epochs,
                 const std::string& state)
        : stream_(stream), seed_(seed), epochs_(epochs) {
        if (!state.empty()) {
            const Json json = *parseJson(state, "state");
            epoch_ = jsonInt(json, "epoch");
            number_ = marked_ = jsonInt(json, "next");
        }
        ++stream.numOpened;
    }
    Result<FeedEvent> next() override {
        if (stream_.onNext) {
            stream_.onNext();
        }
        FeedEvent event;
        if (stream_.numWaits > 0) {
            --stream_.numWaits;
            return event;
        }
        if (stream_.stopAfter == 0) {
            event.kind = FeedEvent::Kind::kStopped;
            return event;
        }
        if (stream_.numLosses > 0 && number_ == 1) {
            --stream_.numLosses;
            return unavailable("the feed is gone");
        }
        const std::int64_t total = stream_.batchesOfEpoch();
        const std::int64_t stepEnd = std::min(total, marked_ + stream_.perStep);
        while (number_ < stepEnd && number_ % stream_.worldSize != stream_.rank) {
            ++number_;
        }
        event.epoch = epoch_;
        event.number = number_;
        if (epoch_ >= epochs_) {
            event.kind = FeedEvent::Kind::kEndOfStream;
        } else if (marked_ == total) {
            event.kind = FeedEvent::Kind::kEndOfEpoch;
            ++epoch_;
            number_ = marked_ = 0;
        } else if (number_ == stepEnd) {
            event.kind = FeedEvent::Kind::kStep;
            event.isLast = stepEnd == total;
            marked_ = stepEnd;
        } else {
            give(event);
        }
        return event;
    }
    Result<std::string> state(std::int64_t epoch, std::int64_t next) override {
        const bool isEnd = next == stream_.batchesOfEpoch() && epoch < epoch_;
        return dumpJson({{"epoch", isEnd ? epoch + 1 : epoch},
                         {"next", isEnd ? 0 : next},
                         {"order_hash", strCat("hash-of-", stream_.rows)}});
    }

 private:
    void give(FeedEvent& event) {
        if (stream_.goesBack && number_ == 3) {
            event.number = 2;
        }
        const std::uint64_t base = static_cast<std::uint64_t>(epoch_) << 32;
        const std::uint64_t from = static_cast<std::uint64_t>(number_) * stream_.microRows;
        columns_ =
            rowsOf(seed_, base + from, base + std::min(from + stream_.microRows, stream_.rows));
        if (stream_.label) {
            columns_.labels.assign(columns_.labels.size(), *stream_.label);
        }
        const std::int64_t bad = stream_.badRow - static_cast<std::int64_t>(from);
        if (epoch_ == 0 && bad >= 0 && bad < std::ssize(columns_.labels)) {
            columns_.labels[static_cast<std::size_t>(bad)] = NAN;
            columns_.masks[static_cast<std::size_t>(bad)] = 1;
        }
        event.kind = FeedEvent::Kind::kBatch;
        event.batch = columns_.view();
        event.batch.epoch = epoch_;
        ++number_;
        --stream_.stopAfter;
    }
    MemoryStream& stream_;
    std::uint64_t seed_;
    std::int64_t epochs_, epoch_ = 0, number_ = 0;
    std::int64_t marked_ = 0;  // where the last step ended
    Columns columns_;
};

inline LearnerOptions smallModel(const std::string& type, std::size_t heads = 1) {
    LearnerOptions o;
    o.model = type;
    o.embeddingDim = 4;
    o.bottom = {8, 4};
    o.top = {8, 1};
    o.hidden = {8, 6};
    o.crossLayers = 2;
    o.keys = {"user", "item"};
    o.smoothing = 5;
    o.denseWidth = type == "target_mean" ? 0 : 2;
    o.features = {{"user", 0}, {"item", 1}, {"tags", 2}};
    const std::int64_t dim = type == "logistic" ? static_cast<std::int64_t>(heads) : 4;
    o.tables = {{"user", 20, dim}, {"item", 30, dim}, {"tags", 7, dim}};
    for (std::size_t h = 0; h < heads; ++h) {
        o.heads.push_back(strCat("head", h));
    }
    o.optimizer.learningRate = 0.01;
    o.seed = 7;
    return o;
}

/// For all tests that have one rank.
inline Group& alone() {
    static const std::unique_ptr<Group> kAlone = makeLoneGroup();
    return *kAlone;
}

inline std::unique_ptr<Learner> learnerOf(const LearnerOptions& options) {
    Result<std::unique_ptr<Learner>> made = makeLearner(options, alone());
    INVARIANT(made.ok(), "the test's options are valid");
    return std::move(*made);
}

/// All tensors' bytes with their names.
inline std::string bytesOf(Learner& learner) {
    std::string out;
    for (const TensorRef& t : learner.tensors()) {
        out += t.name;
        out.append(static_cast<const char*>(t.data), static_cast<std::size_t>(t.numBytes()));
    }
    return out;
}

}  // namespace millrace::train::test
