#include "backend/profile/advice.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include <arrow/array/array_base.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/profile/measure.h"
#include "backend/table/external_sort.h"
#include "backend/text/text.h"

namespace millrace::profile {

namespace {

// Decoded bytes of a mean row group. The loader cuts row groups into splits of at most 256 MB.
constexpr double kSmallGroupBytes = 8e6, kLargeGroupBytes = 512e6;
// A command is suggested from a gain of 10 % on: less is not worth writing the files again.
constexpr double kWorthIt = 1.1;

std::string figure(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", value < 10 ? 2 : 1, value);
    return text;
}

std::string seconds(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f ms", value * 1e3);
    return text;
}

// For a POSIX shell: users paste the command.
std::string quoted(const std::string& words) {
    std::string text = "'";
    for (const char c : words) {
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return text + "'";
}

std::string commandOf(const AdviceInput& input, const std::string& options) {
    return strCat("printf '%s\\n' ", quoted(strCat("dataset: ", input.dataset)),
                  " > better.yaml && millrace stream better.yaml --rows --all-rows --sink parquet "
                  "--output better",
                  options);
}

std::string firstWord(const std::string& codecs) {
    return codecs.substr(0, codecs.find(','));
}

bool hasDictionary(const dataset::ColumnInfo& column) {
    return column.encoding.find("DICTIONARY") != std::string::npos;
}

bool isFloatColumn(const dataset::ColumnInfo& column) {
    return column.type.starts_with("float") || column.type.starts_with("double");
}

// The codec of most columns, as a name for --codec.
std::string codecOf(const AdviceInput& input) {
    std::map<std::string, int> votes;
    for (const dataset::ColumnInfo& column : input.columns) {
        ++votes[firstWord(column.codec)];
    }
    std::string best;
    for (const auto& [codec, count] : votes) {
        if (best.empty() || count > votes[best]) {
            best = codec;
        }
    }
    if (best.starts_with("lz4")) {
        return "lz4";
    }
    return best == "zstd" || best == "snappy" ? best : "none";
}

class Advisor {
 public:
    Advisor(const AdviceInput& input, const std::stop_token& stop) : input_(input), stop_(stop) {
        // Both sides of a comparison are written with the files' own codec and encodings: only the
        // property in question differs.
        now_.codec = codecOf(input);
        // Measures floats with the encoding that they have in the files.
        for (const dataset::ColumnInfo& column : input.columns) {
            now_.hasFloatDictionary |= isFloatColumn(column) && hasDictionary(column);
        }
    }

    std::vector<Advice> run() {
        if (input_.format != "parquet") {
            adviseFormat();
            return std::move(found_);
        }
        adviseFloats();
        adviseRequests();
        adviseRowGroups();
        adviseCodec();
        std::stable_sort(found_.begin(), found_.end(), [](const Advice& a, const Advice& b) {
            return a.timeFactor > b.timeFactor;
        });
        return std::move(found_);
    }

 private:
    bool canMeasure() const {
        return input_.sample != nullptr && input_.sample->num_rows() > 0 && !stop_.stop_requested();
    }
    std::optional<Measured> measure(const arrow::RecordBatch& rows,
                                    const table::WriterOptions& options,
                                    std::int64_t groupRows = 0) const {
        const auto measured = measureWritten(rows, options, groupRows, input_.directory);
        return measured.ok() ? std::optional<Measured>(*measured) : std::nullopt;
    }

    void adviseFormat() {
        Advice advice;
        advice.kind = "format";
        advice.finding = strCat("the files are ", input_.format,
                                ": all columns are read to get one, and nothing is skipped");
        if (canMeasure()) {
            const auto better = measure(*input_.sample, {});
            if (better) {
                strAppend(&advice.finding, "; ", formatCount(input_.sample->num_rows()),
                          " rows as Parquet take ", formatBytes(static_cast<double>(better->bytes)),
                          " and ", seconds(better->seconds), " of a core to read");
            }
        }
        advice.command = commandOf(input_, "");
        found_.push_back(std::move(advice));
    }

    // The columns of these types, as a batch.
    std::shared_ptr<arrow::RecordBatch> select(bool isFloat) const {
        std::vector<int> chosen;
        for (int c = 0; c < input_.sample->num_columns(); ++c) {
            const auto type = input_.sample->column(c)->type_id();
            if ((type == arrow::Type::FLOAT || type == arrow::Type::DOUBLE) == isFloat) {
                chosen.push_back(c);
            }
        }
        const auto batch = input_.sample->SelectColumns(chosen);
        return batch.ok() && !chosen.empty() ? *batch : nullptr;
    }

    void adviseFloats() {
        std::int64_t count = 0;
        for (const dataset::ColumnInfo& column : input_.columns) {
            count += isFloatColumn(column) && hasDictionary(column) ? 1 : 0;
        }
        if (count == 0 || !canMeasure()) {
            return;
        }
        const auto floats = select(true);
        table::WriterOptions with = now_, without = now_;
        with.hasFloatDictionary = true;
        without.hasFloatDictionary = false;
        const auto before = floats ? measure(*floats, with) : std::nullopt;
        const auto after = before ? measure(*floats, without) : std::nullopt;
        if (!after) {
            return;
        }
        Advice advice = compared(*before, *after);
        advice.kind = "float_dictionary";
        advice.finding =
            strCat(count, count == 1 ? " float column has" : " float columns have",
                   " a dictionary: they take ", figure(advice.timeFactor),
                   "x the time to read of plain ones (", seconds(before->seconds), " against ",
                   seconds(after->seconds), " for ", formatCount(floats->num_rows()), " rows) and ",
                   figure(advice.bytesFactor), "x the bytes");
        advice.command = advice.timeFactor >= kWorthIt ? commandOf(input_, "") : "";
        found_.push_back(std::move(advice));
    }

    static Advice compared(const Measured& before, const Measured& after) {
        Advice advice;
        advice.isMeasured = true;
        advice.bytesFactor = static_cast<double>(before.bytes) /
                             static_cast<double>(std::max<std::int64_t>(1, after.bytes));
        advice.timeFactor = before.seconds / std::max(after.seconds, 1e-9);
        return advice;
    }

    std::shared_ptr<arrow::RecordBatch> sortedSample() const {
        table::ExternalSort::Options options;
        options.keys = {input_.request->column};
        options.directory = input_.directory + "/runs";
        // More than the sample needs, so that the sort never writes runs to disk.
        options.memoryBytes = std::int64_t{1} << 40;  // the sample already is in memory
        const auto sort = table::ExternalSort::make(input_.sample->schema(), options);
        std::shared_ptr<arrow::RecordBatch> sorted;
        const bool isSorted = sort.ok() && (*sort)->add(input_.sample).ok() &&
                              (*sort)
                                  ->finish([&sorted](table::BatchPtr batch) {
                                      sorted = std::move(batch);
                                      return okStatus();
                                  })
                                  .ok();
        return isSorted ? sorted : nullptr;
    }

    void adviseRequests() {
        if (!input_.request || input_.request->repeats == 0 || !canMeasure()) {
            return;
        }
        const RequestGuess& request = *input_.request;
        const int percent = static_cast<int>(100 * request.adjacentShare());
        Advice advice;
        advice.kind = "scattered_requests";
        // Sorting would not gain much: most repeats already follow each other.
        if (request.adjacentShare() >= 0.9) {
            advice.finding = strCat("rows of one '", request.column, "' are adjacent (",
                                    figure(request.rowsPerRequest),
                                    " rows each in the sample): features.request: ", request.column,
                                    " stores their lists once");
            found_.push_back(std::move(advice));
            return;
        }
        const auto sorted = sortedSample();
        const auto before = measure(*input_.sample, now_);
        const auto after = sorted && before ? measure(*sorted, now_) : std::nullopt;
        if (!after) {
            return;
        }
        advice = compared(*before, *after);
        advice.kind = "scattered_requests";
        advice.finding =
            strCat("only ", percent, " % of the rows with a '", request.column,
                   "' seen before follow a row of the same one: scattered like this the sample's ",
                   formatCount(input_.sample->num_rows()), " rows take ",
                   figure(advice.bytesFactor), "x the bytes and ", figure(advice.timeFactor),
                   "x the time to read of sorted ones, and more over the whole dataset, where a "
                   "request has more rows (",
                   figure(request.rowsPerRequest), " in the sample)");
        advice.command = commandOf(input_, strCat(" --sort ", request.column));
        found_.push_back(std::move(advice));
    }

    void adviseRowGroups() {
        if (input_.rowGroups == 0) {
            return;
        }
        const double bytes =
            static_cast<double>(input_.decodedBytes) / static_cast<double>(input_.rowGroups);
        const double rows =
            static_cast<double>(input_.rows) / static_cast<double>(input_.rowGroups);
        Advice advice;
        advice.kind = "row_groups";
        const std::string mean =
            strCat("row groups have ", formatCount(static_cast<std::int64_t>(rows)),
                   " rows on average, ", formatBytes(bytes), " decoded");
        if (bytes < kSmallGroupBytes && input_.rowGroups > 1 && canMeasure()) {
            const auto groupRows = std::max<std::int64_t>(1, static_cast<std::int64_t>(rows));
            const auto before = measure(*input_.sample, now_, groupRows);
            const auto after = before ? measure(*input_.sample, now_) : std::nullopt;
            if (!after) {
                return;
            }
            advice = compared(*before, *after);
            advice.kind = "row_groups";
            advice.finding =
                strCat(mean, ": small ones take ", figure(advice.timeFactor),
                       "x the time to read and ", figure(advice.bytesFactor), "x the bytes of ",
                       formatCount(input_.sample->num_rows()), " rows in one");
            advice.command = advice.timeFactor >= kWorthIt || advice.bytesFactor >= kWorthIt
                                 ? commandOf(input_, " --row-group-rows 65536")
                                 : "";
        } else if (bytes > kLargeGroupBytes) {
            // Without a page index, the k-th of n splits decompresses the pages of k splits: half
            // of n + 1 on average.
            const double cuts = bytes / 256e6;
            advice.finding = strCat(mean, ": each is cut into about ", figure(cuts), " splits, ");
            const bool hasIndex = std::ranges::all_of(
                input_.columns, [](const auto& column) { return column.hasPageIndex == true; });
            if (hasIndex) {
                strAppend(&advice.finding, "and the page index leads each of them to its pages");
            } else {
                strAppend(
                    &advice.finding,
                    "and without a page index a split's pages are found by passing over those "
                    "before it: of lists about ",
                    figure((cuts + 1) / 2), "x the pages are decompressed");
                advice.timeFactor = (cuts + 1) / 2;
                advice.command = commandOf(input_, " --row-group-rows 65536");
            }
        } else {
            return;
        }
        found_.push_back(std::move(advice));
    }

    void adviseCodec() {
        if (!canMeasure()) {
            return;
        }
        const auto before = measure(*input_.sample, now_);
        if (!before) {
            return;
        }
        std::string best, table;
        Measured bestMeasured = *before;
        for (const char* codec : {"none", "lz4", "snappy", "zstd"}) {
            table::WriterOptions options = now_;
            options.codec = codec;
            const auto measured = codec == now_.codec ? before : measure(*input_.sample, options);
            if (!measured || stop_.stop_requested()) {
                return;
            }
            strAppend(&table, table.empty() ? "" : ", ", codec, " ",
                      formatBytes(static_cast<double>(measured->bytes)), " ",
                      seconds(measured->seconds));
            // Each codec has to beat the best one so far by the factor: near-equal ones do not
            // replace it.
            if (measured->seconds < bestMeasured.seconds / kWorthIt) {
                bestMeasured = *measured;
                best = codec;
            }
        }
        Advice advice = compared(*before, best.empty() ? *before : bestMeasured);
        advice.kind = "codec";
        advice.finding = strCat("codec ", now_.codec, "; ", formatCount(input_.sample->num_rows()),
                                " rows in bytes and time of a core to read: ", table);
        if (!best.empty()) {
            strAppend(&advice.finding, ". ", best, " reads ", figure(advice.timeFactor),
                      "x as fast from a local disk, at ", figure(1 / advice.bytesFactor),
                      "x the bytes");
            advice.command = commandOf(input_, strCat(" --codec ", best));
        }
        found_.push_back(std::move(advice));
    }

    const AdviceInput& input_;
    const std::stop_token stop_;
    table::WriterOptions now_;
    std::vector<Advice> found_;
};

}  // namespace

Json Advice::toJson() const {
    return {{"kind", kind},
            {"finding", finding},
            {"bytes_factor", bytesFactor},
            {"time_factor", timeFactor},
            {"measured", isMeasured},
            {"command", command.empty() ? Json() : Json(command)}};
}

std::vector<Advice> advise(const AdviceInput& input, const std::stop_token& stop) {
    return Advisor(input, stop).run();
}

}  // namespace millrace::profile
