#include "backend/segment/requests.h"

#include <algorithm>
#include <numeric>

#include <arrow/array/array_base.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "backend/dataset/split_reader.h"
#include "backend/segment/chunk.h"

namespace millrace::segment {
namespace {

template <class T>
void addStarts(const arrow::Array& values, std::uint64_t firstRow,
               std::vector<std::uint64_t>& starts) {
    const T* const value = values.data()->GetValues<T>(1);
    for (std::int64_t r = 1; r < values.length(); ++r) {
        if (value[r] != value[r - 1]) {
            starts.push_back(firstRow + static_cast<std::uint64_t>(r));
        }
    }
}

bool goesOn(const arrow::Array& values, std::int64_t row) {
    return values.IsValid(row) && values.IsValid(row - 1) &&
           values.RangeEquals(values, row, row + 1, row - 1);
}

std::vector<std::string> listsOf(const spec::RunSpec& spec, const expr::Schema& columns) {
    std::vector<std::string> lists;
    for (const auto* names : {&spec.features.lists, &spec.features.carry}) {
        for (const std::string& name : *names) {
            const expr::Field* field = columns.find(name);
            if (field != nullptr && field->type.isList) {
                lists.push_back(name);
            }
        }
    }
    return lists;
}

// Whether adjacent rows of one request have equal lists. `lists` may store repeats once.
bool isConstant(const arrow::Array& lists, const std::vector<std::uint64_t>& starts) {
    const arrow::Array* indices = nullptr;
    if (lists.type_id() == arrow::Type::DICTIONARY) {
        indices = static_cast<const arrow::DictionaryArray&>(lists).indices().get();
    }
    auto next = starts.begin();
    for (std::int64_t r = 0; r < lists.length(); ++r) {
        const bool isStart = next != starts.end() && *next == static_cast<std::uint64_t>(r);
        next += isStart ? 1 : 0;
        const arrow::Array& compared = indices != nullptr ? *indices : lists;
        if (!isStart && !compared.RangeEquals(compared, r, r + 1, r - 1)) {
            return false;
        }
    }
    return true;
}

// The first rows of a plan.
class Probe {
 public:
    Probe(const DedupProbe& probe, const dataset::SplitRange& range)
        : probe_(probe),
          range_(range),
          reader_(probe.dataset),
          rows_(static_cast<std::size_t>(std::min(range.rows, kProbeRows))) {
        std::iota(rows_.begin(), rows_.end(), 0);
    }

    Result<std::set<std::string>> constantOf(const std::vector<std::string>& lists) {
        std::set<std::string> constant(lists.begin(), lists.end());
        std::vector<std::string> names;
        for (const std::string& name : lists) {
            if (probe_.dataset->schema().find(name) != nullptr) {
                names.push_back(name);
            }
        }
        const std::size_t numRead = names.size();
        names.push_back(probe_.spec.features.request);
        ASSIGN_OR_RETURN(const auto arrays,
                         reader_.readRows(range_, names, {&rows_, /*mayRepeat=*/true}));
        const auto starts = requestStarts(*arrays.back(), 0);
        for (std::size_t i = 0; i < numRead; ++i) {
            if (!isConstant(*arrays[i], starts)) {
                constant.erase(names[i]);
            }
        }
        if (numRead < lists.size()) {
            RETURN_IF_ERROR(dropChanging(starts, constant));
        }
        return constant;
    }

 private:
    // Drops those lists that the recipe makes and that change within a request.
    Status dropChanging(const std::vector<std::uint64_t>& starts, std::set<std::string>& constant) {
        Columns columns(*this);
        const recipe::SplitInput in{range_.file,
                                    probe_.files[range_.file].relativePath,
                                    static_cast<std::uint64_t>(range_.firstRow),
                                    static_cast<std::int64_t>(rows_.size()),
                                    &columns,
                                    nullptr};
        ASSIGN_OR_RETURN(const recipe::FeatureBatch batch, probe_.recipe.run(in, 0));
        for (const recipe::ListColumn& lists : batch.lists) {
            const Chunk::Column column{reinterpret_cast<const std::byte*>(lists.values),
                                       lists.offsets, lists.items};
            auto next = starts.begin();
            for (std::int64_t r = 0; r < batch.rows; ++r) {
                bool isStart = r == 0;
                const std::uint64_t row = batch.rowNumbers[r] - in.firstRow;
                for (; next != starts.end() && *next <= row; ++next) {
                    isStart = true;
                }
                if (!isStart && !column.isSameList(sizeof(*lists.values), r - 1, r)) {
                    constant.erase(lists.name);
                }
            }
        }
        return okStatus();
    }

    class Columns final : public recipe::ColumnSource {
     public:
        explicit Columns(Probe& probe) : probe_(probe) {}
        Result<std::vector<std::shared_ptr<arrow::Array>>> columns(
            const std::vector<std::string>& names) override {
            return probe_.reader_.readRows(probe_.range_, names, {&probe_.rows_});
        }

     private:
        Probe& probe_;
    };

    const DedupProbe& probe_;
    const dataset::SplitRange range_;
    dataset::SplitReader reader_;
    std::vector<std::int64_t> rows_;
};

}  // namespace

std::vector<std::uint64_t> requestStarts(const arrow::Array& values, std::uint64_t firstRow) {
    std::vector<std::uint64_t> starts;
    if (values.length() == 0) {
        return starts;
    }
    starts.push_back(firstRow);
    const auto* fixed = dynamic_cast<const arrow::FixedWidthType*>(values.type().get());
    const int bits =
        fixed != nullptr && arrow::is_integer(values.type_id()) ? fixed->bit_width() : 0;
    if (values.null_count() == 0 && bits == 64) {
        addStarts<std::uint64_t>(values, firstRow, starts);
    } else if (values.null_count() == 0 && bits == 32) {
        addStarts<std::uint32_t>(values, firstRow, starts);
    } else {
        for (std::int64_t r = 1; r < values.length(); ++r) {
            if (!goesOn(values, r)) {
                starts.push_back(firstRow + static_cast<std::uint64_t>(r));
            }
        }
    }
    return starts;
}

Result<std::set<std::string>> deduplicatedLists(const DedupProbe& probe) {
    const std::string& request = probe.spec.features.request;
    const expr::Schema& ofFiles = probe.dataset->schema();
    if (request.empty() || probe.spec.features.dedup == "off" || ofFiles.find(request) == nullptr) {
        return std::set<std::string>();
    }
    const std::vector<std::string> lists = listsOf(probe.spec, probe.columns);
    if (probe.spec.features.dedup == "required" || lists.empty()) {
        return std::set<std::string>(lists.begin(), lists.end());
    }
    for (std::uint32_t file = 0; file < probe.files.size(); ++file) {
        for (const stream::PlanSplit& split : probe.files[file].splits) {
            if (split.rows > 0) {
                const dataset::SplitRange range{file, split.rowGroup, split.firstRow, split.rows};
                return Probe(probe, range).constantOf(lists);
            }
        }
    }
    return std::set<std::string>();
}

}  // namespace millrace::segment
