#include "app/client/translate_inspect.h"

#include "app/client/translate.h"

namespace millrace::client {
namespace {

template <class From, class To>
std::vector<To> listOf(const From& from, To (*convert)(const typename From::value_type&)) {
    std::vector<To> to;
    to.reserve(static_cast<std::size_t>(from.size()));
    for (const auto& item : from) {
        to.push_back(convert(item));
    }
    return to;
}

v1::SpecSource sourceOf(const SpecSource& from) {
    v1::SpecSource to;
    to.set_spec_text(from.text);
    to.set_file_name(from.fileName);
    to.set_base_dir(from.baseDir);
    to.mutable_sets()->Add(from.sets.begin(), from.sets.end());
    return to;
}

SpecError errorOf(const v1::SpecError& from) {
    return toValue(from);
}

ColumnFacts columnOf(const v1::ColumnFacts& from) {
    ColumnFacts to;
    to.name = from.name();
    to.type = from.type();
    to.isNullable = from.is_nullable();
    if (from.has_nulls()) {
        to.nulls = from.nulls();
    }
    if (from.has_disk_bytes()) {
        to.diskBytes = from.disk_bytes();
    }
    if (from.has_decoded_bytes()) {
        to.decodedBytes = from.decoded_bytes();
    }
    to.min = from.min();
    to.max = from.max();
    to.encoding = from.encoding();
    to.codec = from.codec();
    return to;
}

CheckedRun checkedOf(const v1::CheckedRun& from) {
    return {from.variation(), from.resolved_spec(), from.spec_hash(), from.stream_hash(),
            from.rows(),      from.files(),         from.splits(),    from.plan_hash()};
}

RowGroupFacts rowGroupOf(const v1::RowGroup& from) {
    return {from.rows(), from.disk_bytes(), from.decoded_bytes()};
}

DatasetFile fileOf(const v1::DatasetFile& from) {
    return {from.path(), from.bytes(), from.rows(), listOf(from.row_groups(), &rowGroupOf)};
}

SampleColumn sampleColumnOf(const v1::SampleColumn& from) {
    return {from.name(),
            from.type(),
            {from.values().begin(), from.values().end()},
            {from.is_null().begin(), from.is_null().end()}};
}

SampleStage stageOf(const v1::SampleStage& from) {
    return {from.step(),
            from.kind(),
            from.text(),
            from.is_enabled(),
            listOf(from.columns(), &sampleColumnOf),
            {from.row_ids().begin(), from.row_ids().end()},
            from.rows_in(),
            from.rows_out()};
}

Estimate estimateOf(const v1::Estimate& from) {
    Estimate to;
    to.value = from.value();
    if (from.has_low() && from.has_high()) {
        to.low = from.low();
        to.high = from.high();
    }
    to.isExact = from.exact();
    return to;
}

PreviewHead headOf(const v1::PreviewHead& from) {
    return {from.name(), estimateOf(from.labelled()), estimateOf(from.positives()),
            estimateOf(from.positive_share())};
}

}  // namespace

CheckReply toValue(const v1::CheckSpecResponse& from) {
    return {listOf(from.errors(), &errorOf), listOf(from.warnings(), &errorOf),
            listOf(from.runs(), &checkedOf), listOf(from.columns(), &columnOf),
            listOf(from.derived(), &columnOf)};
}

DatasetReply toValue(const v1::DescribeDatasetResponse& from) {
    DatasetReply to;
    to.errors = listOf(from.errors(), &errorOf);
    to.format = from.format();
    to.files = listOf(from.files(), &fileOf);
    to.filesTotal = static_cast<std::int64_t>(from.files_total());
    to.rows = from.rows();
    to.rowGroups = static_cast<std::int64_t>(from.row_groups());
    to.bytes = from.bytes();
    if (from.has_decoded_bytes()) {
        to.decodedBytes = from.decoded_bytes();
    }
    to.columns = listOf(from.columns(), &columnOf);
    for (const v1::LeftOutColumn& column : from.left_out()) {
        to.leftOut.push_back({column.name(), column.why()});
    }
    return to;
}

StepsReply toValue(const v1::SampleStepsResponse& from) {
    return {listOf(from.errors(), &errorOf), listOf(from.stages(), &stageOf), from.splits(),
            from.split_rows()};
}

PreviewReply toValue(const v1::PreviewSpecResponse& from) {
    PreviewReply to;
    to.errors = listOf(from.errors(), &errorOf);
    to.splits = from.splits();
    to.splitsSampled = from.splits_sampled();
    to.rows = from.rows();
    to.threads = from.threads();
    to.rowsKept = estimateOf(from.rows_kept());
    to.keepShare = estimateOf(from.keep_share());
    to.epochSeconds = estimateOf(from.epoch_seconds());
    to.heads = listOf(from.heads(), &headOf);
    return to;
}

v1::CheckSpecRequest toMessage(const CheckRequest& from) {
    v1::CheckSpecRequest to;
    *to.mutable_spec() = sourceOf(from.spec);
    to.mutable_variations()->Add(from.variations.begin(), from.variations.end());
    to.set_all_variations(from.allVariations);
    return to;
}

v1::DescribeDatasetRequest toMessage(const DatasetRequest& from) {
    v1::DescribeDatasetRequest to;
    to.mutable_paths()->Add(from.paths.begin(), from.paths.end());
    to.set_base_dir(from.baseDir);
    to.set_format(from.format);
    if (from.paths.empty()) {
        *to.mutable_spec() = sourceOf(from.spec);
    }
    to.set_files_max(static_cast<std::uint32_t>(from.filesMax));
    return to;
}

v1::SampleStepsRequest toMessage(const StepsRequest& from) {
    v1::SampleStepsRequest to;
    *to.mutable_spec() = sourceOf(from.spec);
    to.set_variation(from.variation);
    to.set_rows(static_cast<std::uint32_t>(from.rows));
    to.set_split(static_cast<std::uint64_t>(from.split));
    to.set_first_row(static_cast<std::uint64_t>(from.firstRow));
    return to;
}

v1::PreviewSpecRequest toMessage(const PreviewRequest& from) {
    v1::PreviewSpecRequest to;
    *to.mutable_spec() = sourceOf(from.spec);
    to.set_variation(from.variation);
    to.set_seconds(from.seconds);
    return to;
}

}  // namespace millrace::client
