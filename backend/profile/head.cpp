#include "backend/profile/head.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <arrow/array/array_base.h>
#include <arrow/type.h>

#include "backend/arrays/value_text.h"
#include "backend/dataset/split_reader.h"
#include "backend/dataset/stored_types.h"
#include "backend/profile/list_note.h"
#include "backend/profile/spec_split.h"

namespace millrace::profile {
namespace {

struct HeadColumn {
    std::vector<std::string> values;
    std::vector<bool> isNull;
};

class Head {
 public:
    Head(std::shared_ptr<const dataset::Dataset> dataset, std::int64_t rows)
        : dataset_(std::move(dataset)),
          reader_(dataset_),
          names_(dataset_->schema().names()),
          columns_(names_.size()),
          left_(rows) {}

    Result<Json> read() {
        std::int64_t total = 0;
        for (std::uint32_t file = 0; file < dataset_->files().size(); ++file) {
            ASSIGN_OR_RETURN(const auto facts, dataset_->facts(file));
            total += facts->rows;
            std::int64_t first = 0;
            for (std::size_t c = 0; c < facts->chunks.size() && left_ > 0; ++c) {
                const std::int64_t rows = facts->chunks[c].rows;
                RETURN_IF_ERROR(readSplit({file, static_cast<std::int64_t>(c), first, rows}));
                first += rows;
            }
        }
        ASSIGN_OR_RETURN(const auto types, dataset::storedTypes(*dataset_, names_));
        return document(total, types);
    }

 private:
    Status readSplit(dataset::SplitRange split) {
        split.rows = std::min(split.rows, left_);
        ASSIGN_OR_RETURN(const auto arrays, reader_.readColumns(split, names_));
        for (std::int64_t row = 0; row < split.rows && bytes_ < kHeadBytesMost; ++row) {
            for (std::size_t c = 0; c < arrays.size(); ++c) {
                const bool isNull = arrays[c]->IsNull(row);
                columns_[c].isNull.push_back(isNull);
                columns_[c].values.push_back(isNull ? "" : arrays::valueText(*arrays[c], row));
                bytes_ += columns_[c].values.back().size();
            }
            ++rows_;
        }
        left_ = bytes_ < kHeadBytesMost ? left_ - split.rows : 0;
        return okStatus();
    }

    Json document(std::int64_t total, const std::map<std::string, dataset::TypePtr>& types) const {
        Json columns = Json::array();
        std::vector<std::string> notes = dataset_->notes();
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            for (const std::string& note : {noteOn(c), zoneNote(names_[c], *types.at(names_[c]))}) {
                if (!note.empty()) {
                    notes.push_back(note);
                }
            }
            columns.push_back({{"name", names_[c]},
                               {"type", dataset_->schema().fields[c].type.name()},
                               {"values", columns_[c].values},
                               {"is_null", columns_[c].isNull}});
        }
        return {{"columns", std::move(columns)},
                {"rows", rows_},
                {"rows_total", total},
                {"notes", std::move(notes)}};
    }

    std::string noteOn(std::size_t c) const {
        const expr::DataType& type = dataset_->schema().fields[c].type;
        if (!type.isString() || type.isList) {
            return "";
        }
        std::vector<std::string> values;
        for (std::size_t row = 0; row < columns_[c].values.size(); ++row) {
            if (!columns_[c].isNull[row]) {
                values.push_back(columns_[c].values[row]);
            }
        }
        return listNote(names_[c], values);
    }

    // CSV has offsets instead of zones; in other formats UTC is what the file has.
    std::string zoneNote(const std::string& name, const arrow::DataType& type) const {
        if (type.id() != arrow::Type::TIMESTAMP) {
            return "";
        }
        const std::string& zone = static_cast<const arrow::TimestampType&>(type).timezone();
        const bool isCsv = dataset_->options().format == "csv";
        if (zone.empty() || (!isCsv && (zone == "UTC" || zone == "Etc/UTC" || zone == "+00:00"))) {
            return "";
        }
        return strCat("times of '", name, "' are read and shown in UTC: `", sqlName(name),
                      " at time zone '", isCsv ? "Europe/Berlin" : zone,
                      "'` is the local time there");
    }

    const std::shared_ptr<const dataset::Dataset> dataset_;
    dataset::SplitReader reader_;
    const std::vector<std::string> names_;
    std::vector<HeadColumn> columns_;
    std::int64_t left_, rows_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace

Result<Json> headOf(const std::shared_ptr<const dataset::Dataset>& dataset, std::int64_t rows) {
    return Head(dataset, rows).read();
}

}  // namespace millrace::profile
