#include "backend/segment/requests.h"

#include <algorithm>
#include <cstring>

#include <arrow/array/array_base.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "backend/dataset/split_reader.h"

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

std::vector<std::string> listsOf(const spec::RunSpec& spec, const spec::Schema& columns) {
    std::vector<std::string> lists;
    for (const auto* names : {&spec.features.lists, &spec.features.carry}) {
        for (const std::string& name : *names) {
            const spec::Field* field = columns.find(name);
            if (field != nullptr && field->type.isList) {
                lists.push_back(name);
            }
        }
    }
    return lists;
}

// Whether neighbours of one request have one list, as read with repeats stored once.
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

Result<std::set<std::string>> deduplicatedLists(
    const spec::RunSpec& spec, const spec::Schema& columns,
    const std::shared_ptr<const dataset::Dataset>& dataset,
    const std::vector<stream::PlanFile>& files) {
    const std::string& request = spec.features.request;
    if (request.empty() || spec.features.dedup == "off") {
        return std::set<std::string>();
    }
    const std::vector<std::string> lists = listsOf(spec, columns);
    std::set<std::string> chosen(lists.begin(), lists.end());
    // Only what stands in the files can be looked at here; made columns are taken as constant, and
    // stored apart where they are not.
    std::vector<std::string> probed;
    for (const std::string& name : lists) {
        if (dataset->schema().find(name) != nullptr) {
            probed.push_back(name);
        }
    }
    if (spec.features.dedup == "required" || probed.empty() ||
        dataset->schema().find(request) == nullptr) {
        return chosen;
    }
    for (std::uint32_t file = 0; file < files.size(); ++file) {
        for (const stream::PlanSplit& split : files[file].splits) {
            if (split.rows == 0) {
                continue;
            }
            dataset::SplitReader reader(dataset);
            const dataset::SplitRange range{file, split.rowGroup, split.firstRow,
                                            std::min(split.rows, kProbeRows)};
            probed.push_back(request);
            ASSIGN_OR_RETURN(const auto arrays,
                             reader.readRows(range, probed, {.mayRepeat = true}));
            const auto starts = requestStarts(*arrays.back(), 0);
            for (std::size_t i = 0; i + 1 < arrays.size(); ++i) {
                if (!isConstant(*arrays[i], starts)) {
                    chosen.erase(probed[i]);
                }
            }
            return chosen;
        }
    }
    return chosen;
}

}  // namespace millrace::segment
