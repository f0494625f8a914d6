#pragma once
// Answers of a daemon about a small dataset and a recipe of four steps.
#include <map>
#include <string>
#include <vector>

#include "backend/values/inspection.h"

namespace millrace::gui {

inline values::SampleColumn sampleColumn(const std::string& name, const std::string& type,
                                         std::vector<std::string> values) {
    values::SampleColumn column;
    column.name = name;
    column.type = type;
    column.values = std::move(values);
    return column;
}

inline values::SampleStage sampleStage(const std::string& step, const std::string& kind,
                                       std::vector<std::int64_t> ids,
                                       std::vector<values::SampleColumn> columns,
                                       std::int64_t rowsIn) {
    values::SampleStage stage;
    stage.step = step;
    stage.kind = kind;
    stage.text = kind + ": as written";
    stage.columns = std::move(columns);
    stage.rowsOut = static_cast<std::int64_t>(ids.size());
    stage.rowsIn = rowsIn;
    stage.rowIds = std::move(ids);
    return stage;
}

/// dataset (4 rows) -> filter (removes row 2) -> join (adds a column) -> hash (changes a column),
/// and a step that is switched off.
inline values::StepsReply sampleSteps() {
    values::StepsReply reply;
    reply.splits = 12;
    reply.splitRows = 4000;
    const auto users = [](std::vector<std::string> v) {
        return sampleColumn("userId", "int64", v);
    };
    const auto ratings = [](std::vector<std::string> v) {
        return sampleColumn("rating", "double", v);
    };
    reply.stages.push_back(
        sampleStage("dataset", "dataset", {0, 1, 2, 3},
                    {users({"7", "8", "9", "7"}), ratings({"4.5", "", "1", "3"})}, 4));
    reply.stages[0].columns[1].isNull = {false, true, false, false};
    reply.stages.push_back(sampleStage("keep-good", "filter", {0, 1, 3},
                                       {users({"7", "8", "7"}), ratings({"4.5", "", "3"})}, 4));
    reply.stages[1].columns[1].isNull = {false, true, false};
    values::SampleStage off = reply.stages[1];
    off.step = "spam";
    off.kind = "anti_join";
    off.isEnabled = false;
    off.rowsIn = off.rowsOut = 3;
    reply.stages.push_back(off);
    values::SampleStage joined = reply.stages[1];
    joined.step = "movies";
    joined.kind = "join";
    joined.rowsIn = 3;
    joined.columns.push_back(sampleColumn("genres", "list<string>", {"[a]", "[b, c]", "[]"}));
    reply.stages.push_back(joined);
    values::SampleStage hashed = joined;
    hashed.step = "hash";
    hashed.kind = "hash";
    hashed.columns[0].values = {"1007", "8", "1007"};
    reply.stages.push_back(hashed);
    return reply;
}

inline values::DatasetReply sampleDataset(int numFiles = 3, int numColumns = 4) {
    values::DatasetReply reply;
    reply.format = "parquet";
    reply.filesTotal = numFiles;
    for (int f = 0; f < numFiles; ++f) {
        values::DatasetFile file;
        file.path = "/data/log/day=" + std::to_string(f + 1) + "/part-0.parquet";
        for (int g = 0; g < 3 + f; ++g) {
            file.rowGroups.push_back(
                {1000 + 10 * g, 20'000, 64'000 + 1000U * static_cast<unsigned>(g)});
            file.rows += 1000 + 10 * g;
            file.bytes += 20'000;
        }
        reply.rows += file.rows;
        reply.bytes += file.bytes;
        reply.rowGroups += 3 + f;
        reply.files.push_back(std::move(file));
    }
    reply.decodedBytes = reply.bytes * 3;
    for (int c = 0; c < numColumns; ++c) {
        values::ColumnInfo column;
        column.name = "column_" + std::to_string(c);
        column.type = c % 2 == 0 ? "int64" : "list<int64>";
        column.isNullable = c > 0;
        column.nulls = c * 100;
        column.diskBytes = 1000U * static_cast<unsigned>(c + 1);
        column.decodedBytes = 8000U * static_cast<unsigned>(c + 1);
        column.min = std::to_string(-c * 10);
        column.max = std::to_string(c * 10);
        column.encoding = "RLE_DICTIONARY, PLAIN";
        column.codec = "zstd";
        reply.columns.push_back(std::move(column));
    }
    return reply;
}

}  // namespace millrace::gui
