#include "backend/segment/split_columns.h"

#include <algorithm>
#include <utility>

#include <arrow/api.h>

#include "backend/arrays/cut_rows.h"
#include "backend/arrays/number_codes.h"
#include "backend/arrays/text_codes.h"

namespace millrace::segment {
namespace {

/// Bytes of all buffers of an array; a buffer that occurs twice counts twice.
std::int64_t bufferBytes(const arrow::ArrayData& data) {
    std::int64_t bytes = 0;
    for (const std::shared_ptr<arrow::Buffer>& buffer : data.buffers) {
        bytes += buffer == nullptr ? 0 : buffer->size();
    }
    for (const std::shared_ptr<arrow::ArrayData>& child : data.child_data) {
        bytes += bufferBytes(*child);
    }
    return bytes + (data.dictionary == nullptr ? 0 : bufferBytes(*data.dictionary));
}

}  // namespace

Result<ColumnArrays> SplitColumns::rows(const std::vector<std::string>& names,
                                        const pages::RowSelection& selection) {
    StageTimer timer(sharing_.counters);
    ASSIGN_OR_RETURN(ColumnArrays arrays, read(names, selection, owner_));
    const dataset::ColumnCost lap = timer.lap();
    readNs_ += lap.busyNs;
    waitNs_ += lap.waitNs;
    sharing_.counters.add(Stage::kRead, lap.busyNs, 0, 0);
    sharing_.counters.addWait(Stage::kRead, Wait::kStarved, lap.waitNs);
    return arrays;
}

Result<std::shared_ptr<arrow::Array>> SplitColumns::keep(const std::string& name) {
    ASSIGN_OR_RETURN(ColumnArrays arrays, columns({name}));
    kept_ = std::move(arrays[0]);
    keptName_ = name;
    return kept_;
}

Result<ColumnArrays> SplitColumns::read(const std::vector<std::string>& names,
                                        const pages::RowSelection& selection,
                                        const Readers& readers) {
    std::vector<std::string> missing;
    for (const std::string& name : names) {
        if (name != keptName_) {
            missing.push_back(name);
        }
    }
    dataset::SplitReader& reader = readers.own;
    const std::int64_t before = reader.bytesRead();
    const bool isShared = sharing_.isOn() && reader.readsByColumn() &&
                          sharing_.jobs->isWorthSharing(selection.count(split_.rows), split_.rows,
                                                        valuesARow_, missing.size());
    ASSIGN_OR_RETURN(ColumnArrays read, isShared ? sharing_.jobs->read(*sharing_.place, split_,
                                                                       missing, selection, readers)
                                                 : reader.readRows(split_, missing, selection));
    // Each thread counts the shared columns that it read.
    sharing_.counters.addReads(reader.takeCosts(), split_.rows);
    sharing_.counters.add(Stage::kRead, 0, isFirst_ ? split_.rows : 0,
                          isShared ? 0 : reader.bytesRead() - before);
    isFirst_ = false;
    std::vector<std::int64_t> decoded;
    for (const std::shared_ptr<arrow::Array>& array : read) {
        decoded.push_back(bufferBytes(*array->data()));
    }
    sharing_.counters.addDecoded(missing, decoded);
    ColumnArrays arrays;
    std::size_t next = 0;
    for (const std::string& name : names) {
        if (name != keptName_) {
            arrays.push_back(std::move(read[next++]));
            continue;
        }
        ASSIGN_OR_RETURN(auto part, pages::selectRows(kept_, selection, &sharing_.pool));
        arrays.push_back(std::move(part));
    }
    return arrays;
}

// The column source of one piece, with the readers of the thread that runs the piece.
class PiecesOfSplit::Piece final : public recipe::ColumnSource {
 public:
    Piece(PiecesOfSplit& all, std::size_t index) : all_(all), index_(index) {}

    Result<ColumnArrays> columns(const std::vector<std::string>& names) override {
        return rows(names, {});
    }
    Result<ColumnArrays> rows(const std::vector<std::string>& names,
                              const pages::RowSelection& selection) override {
        StageTimer timer(all_.sharing_.counters);
        Result<ColumnArrays> arrays = all_.rowsOf(index_, names, selection, *readers_);
        const dataset::ColumnCost lap = timer.lap();
        readNs_ += lap.busyNs;
        all_.sharing_.counters.add(Stage::kRead, lap.busyNs, 0, 0);
        all_.sharing_.counters.addWait(Stage::kRead, Wait::kStarved, lap.waitNs);
        return arrays;
    }
    std::int64_t readNs() const override { return readNs_; }

    void run(const Readers& readers, const std::function<void(std::size_t)>& work) {
        readers_ = &readers;
        const std::int64_t before = readNs_;
        dataset::BusyClock clock;
        work(index_);
        all_.sharing_.counters.add(Stage::kRecipe, clock.lap() - (readNs_ - before), 0, 0);
        readers_ = nullptr;
    }

    std::vector<std::int64_t> candidates;  ///< as SplitInput::candidates

 private:
    PiecesOfSplit& all_;
    const std::size_t index_;
    const Readers* readers_ = nullptr;
    std::int64_t readNs_ = 0;
};

PiecesOfSplit::PiecesOfSplit(const Sharing& sharing, SplitColumns& columns,
                             const recipe::SplitInput& whole, std::vector<std::int64_t> borders,
                             const Readers& owner)
    : sharing_(sharing),
      columns_(columns),
      whole_(whole),
      borders_(std::move(borders)),
      owner_(owner) {
    for (std::size_t p = 0; p < count(); ++p) {
        pieces_.push_back(std::make_unique<Piece>(*this, p));
        if (whole.candidates == nullptr) {
            continue;
        }
        const auto& all = *whole.candidates;
        const auto end = std::lower_bound(all.begin(), all.end(), borders_[p + 1]);
        for (auto row = std::lower_bound(all.begin(), end, borders_[p]); row != end; ++row) {
            pieces_[p]->candidates.push_back(*row - borders_[p]);
        }
    }
}

PiecesOfSplit::~PiecesOfSplit() = default;

recipe::SplitInput PiecesOfSplit::piece(std::size_t index) const {
    recipe::SplitInput input = whole_;
    input.firstRow = whole_.firstRow + static_cast<std::uint64_t>(borders_[index]);
    input.rows = borders_[index + 1] - borders_[index];
    input.source = pieces_[index].get();
    input.candidates = whole_.candidates == nullptr ? nullptr : &pieces_[index]->candidates;
    return input;
}

void PiecesOfSplit::each(const std::function<void(std::size_t)>& run) {
    dataset::BusyClock clock;
    const UnitWork work = [&](std::size_t index, const Readers& readers) {
        pieces_[index]->run(readers, run);
        return true;
    };
    if (sharing_.isOn()) {
        sharing_.jobs->runPieces(*sharing_.place, count(), work, owner_);
    } else {
        for (std::size_t p = 0; p < count(); ++p) {
            work(p, owner_);
        }
    }
    countedNs_ += clock.lap();
}

void PiecesOfSplit::one(std::size_t index, const std::function<void(std::size_t)>& run) {
    dataset::BusyClock clock;
    pieces_[index]->run(owner_, run);
    countedNs_ += clock.lap();
}

void PiecesOfSplit::leave(const std::vector<const std::vector<std::int64_t>*>& rows) {
    auto present = std::make_shared<Present>();
    present->isAll = std::ranges::all_of(rows, [](const auto* r) { return !r; });
    present->starts.push_back(0);
    for (std::size_t p = 0; p < count(); ++p) {
        const std::int64_t all = borders_[p + 1] - borders_[p];
        present->starts.push_back(present->starts.back() +
                                  (rows[p] == nullptr ? all : std::ssize(*rows[p])));
        for (std::int64_t r = 0; !present->isAll && rows[p] == nullptr && r < all; ++r) {
            present->rows.push_back(borders_[p] + r);
        }
        for (std::int64_t r = 0; rows[p] != nullptr && r < std::ssize(*rows[p]); ++r) {
            present->rows.push_back(borders_[p] + (*rows[p])[static_cast<std::size_t>(r)]);
        }
    }
    MutexLock lock(mutex_);
    present_ = std::move(present);
}

// One thread reads at a time; others help with its columns until they are read.
void PiecesOfSplit::waitLocked(const Readers& readers) {
    mutex_.unlock();
    sharing_.jobs->helpUntil(*sharing_.place, readers.others,
                             [this] { return !isReading_.load(); });
    mutex_.lock();
}

Status PiecesOfSplit::readLocked(const std::vector<std::string>& names,
                                 const pages::RowSelection& form, const Readers& readers) {
    const std::shared_ptr<const Present> present = present_;
    isReading_ = true;
    mutex_.unlock();
    Result<ColumnArrays> read = columns_.read(names,
                                              {present->isAll ? nullptr : &present->rows,
                                               form.mayRepeat, form.mayCode, form.mayCodeNumbers},
                                              readers);
    mutex_.lock();
    isReading_ = false;
    if (sharing_.isOn()) {
        sharing_.jobs->tell();
    }
    if (!read.ok()) {
        failure_ = read.status();
        return failure_;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        stored_[names[i]] = {std::move((*read)[i]), present};
    }
    return okStatus();
}

Result<std::vector<PiecesOfSplit::Stored>> PiecesOfSplit::stored(
    const std::vector<std::string>& names, const pages::RowSelection& form,
    const Readers& readers) {
    MutexLock lock(mutex_);
    for (;;) {
        RETURN_IF_ERROR(failure_);
        std::vector<std::string> missing;
        for (const std::string& name : names) {
            if (!stored_.contains(name)) {
                missing.push_back(name);
            }
        }
        if (missing.empty()) {
            break;
        }
        if (isReading_) {
            waitLocked(readers);
        } else {
            RETURN_IF_ERROR(readLocked(missing, form, readers));
        }
    }
    std::vector<Stored> found;
    found.reserve(names.size());
    for (const std::string& name : names) {
        found.push_back(stored_[name]);
    }
    return found;
}

Result<ColumnArrays> PiecesOfSplit::rowsOf(std::size_t piece, const std::vector<std::string>& names,
                                           const pages::RowSelection& selection,
                                           const Readers& readers) {
    ASSIGN_OR_RETURN(const std::vector<Stored> found, stored(names, selection, readers));
    ColumnArrays arrays;
    arrays.reserve(found.size());
    for (const Stored& one : found) {
        ASSIGN_OR_RETURN(auto array, cut(one, piece, selection));
        arrays.push_back(std::move(array));
    }
    return arrays;
}

Result<std::shared_ptr<arrow::Array>> PiecesOfSplit::cut(
    const Stored& stored, std::size_t piece, const pages::RowSelection& selection) const {
    const std::int64_t first = stored.at->starts[piece];
    const std::int64_t rows = stored.at->starts[piece + 1] - first;
    ASSIGN_OR_RETURN(auto array, arrays::cutRows(stored.array, first, rows, &sharing_.pool));
    if (selection.count(borders_[piece + 1] - borders_[piece]) != rows) {
        // Some rows were dropped since it was read.
        ASSIGN_OR_RETURN(const std::vector<std::int64_t> places,
                         placesOf(*stored.at, piece, selection));
        ASSIGN_OR_RETURN(array, pages::selectRows(std::move(array), {&places, selection.mayRepeat},
                                                  &sharing_.pool));
    }
    const bool mayStay = arrays::TextCodes::of(*array).has_value() ? selection.mayCode
                         : arrays::isNumberCodes(*array)           ? selection.mayCodeNumbers
                                                                   : selection.mayRepeat;
    return mayStay ? Result<std::shared_ptr<arrow::Array>>(std::move(array))
                   : pages::expandStored(std::move(array), &sharing_.pool);
}

// Indices of the requested rows among the piece's present ones. Only rows that are left are
// requested.
Result<std::vector<std::int64_t>> PiecesOfSplit::placesOf(
    const Present& present, std::size_t piece, const pages::RowSelection& selection) const {
    const std::int64_t first = present.starts[piece], end = present.starts[piece + 1];
    std::vector<std::int64_t> places;
    std::int64_t at = first;
    for (std::int64_t w = 0; w < selection.count(borders_[piece + 1] - borders_[piece]); ++w) {
        const std::int64_t offset =
            selection.rows == nullptr ? w : (*selection.rows)[static_cast<std::size_t>(w)];
        if (present.isAll) {
            places.push_back(offset);
            continue;
        }
        const std::int64_t row = borders_[piece] + offset;
        while (at < end && present.rows[static_cast<std::size_t>(at)] < row) {
            ++at;
        }
        if (at == end || present.rows[static_cast<std::size_t>(at)] != row) {
            return internalError("row ", row, " of a split is wanted again");
        }
        places.push_back(at - first);
    }
    return places;
}

std::vector<std::int64_t> pieceBorders(std::int64_t rows, std::int64_t pieceRows,
                                       const std::vector<std::uint64_t>* requestStarts,
                                       std::uint64_t firstRow) {
    std::vector<std::int64_t> borders = {0};
    for (std::int64_t at = pieceRows; at < rows; at = borders.back() + pieceRows) {
        if (requestStarts != nullptr) {
            const auto next = std::lower_bound(requestStarts->begin(), requestStarts->end(),
                                               firstRow + static_cast<std::uint64_t>(at));
            at = next == requestStarts->end() ? rows : static_cast<std::int64_t>(*next - firstRow);
        }
        if (at >= rows) {
            break;
        }
        borders.push_back(at);
    }
    borders.push_back(rows);
    return borders;
}

}  // namespace millrace::segment
