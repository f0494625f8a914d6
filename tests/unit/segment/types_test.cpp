// Every type of a file's column through the whole loader: its frames equal those of the same
// values, written in the type as which the column is read.
#include <arrow/array/array_nested.h>
#include <arrow/array/builder_primitive.h>
#include <gmock/gmock.h>

#include "tests/unit/dataset/data_files.h"
#include "tests/unit/dataset/sample_types.h"
#include "tests/unit/segment/stream_fixture.h"

namespace millrace::segment {
namespace {

using namespace test;

constexpr int kTimes = 40;

bool isReal(const arrow::DataType& type) {
    return arrow::is_floating(type.id()) || arrow::is_decimal(type.id());
}

/// The type as which a column of this type is read, by docs/guides/sources.md.
TypePtr readAs(const arrow::DataType& type) {
    switch (type.id()) {
        case arrow::Type::BOOL:
            return arrow::boolean();
        case arrow::Type::UINT64:
            return arrow::uint64();
        case arrow::Type::HALF_FLOAT:
        case arrow::Type::FLOAT:
            return arrow::float32();
        case arrow::Type::DATE32:
        case arrow::Type::DATE64:
            return arrow::date32();
        case arrow::Type::TIMESTAMP:
            return arrow::timestamp(arrow::TimeUnit::MICRO);
        default:
            return isReal(type)                                                ? arrow::float64()
                   : arrow::is_integer(type.id()) || arrow::is_time(type.id()) ? arrow::int64()
                                                                               : arrow::utf8();
    }
}

ArrayPtr castTo(ArrayPtr array, const TypePtr& type) {
    auto options = arrow::compute::CastOptions::Unsafe(type);
    if (arrow::is_time(array->type_id())) {
        options.to_type = arrow::time64(arrow::TimeUnit::MICRO);
        array = arrow::compute::Cast(array, options)->make_array();
        options.to_type = type;
    }
    if (array->type_id() == arrow::Type::FIXED_SIZE_BINARY) {
        array = arrow::compute::Cast(array, arrow::binary())->make_array();
    }
    const auto cast = arrow::compute::Cast(array, options);
    EXPECT_TRUE(cast.ok()) << array->type()->ToString() << ": " << cast.status();
    return cast->make_array();
}

/// Lists of 0 to 3 of the values; every seventh is null.
ArrayPtr listsOf(const ArrayPtr& values) {
    arrow::Int32Builder offsets;
    std::int32_t at = 0;
    const auto rows = static_cast<std::int32_t>(values->length());
    for (std::int32_t row = 0; row < rows; ++row) {
        EXPECT_TRUE((row % 7 == 3 ? offsets.AppendNull() : offsets.Append(at)).ok());
        at = std::min(rows, at + (row % 7 == 3 ? 0 : row % 4));
    }
    EXPECT_TRUE(offsets.Append(at).ok());
    return *arrow::ListArray::FromArrays(**offsets.Finish(), *values);
}

class Types : public StreamTest {
 public:
    struct Features {
        std::vector<std::string> dense, ids, lists;
        std::vector<std::string> hashed;  ///< bools that are ids, and lists of them
        std::vector<std::string> times;
    };

 protected:
    Features write() const {
        Features features;
        std::vector<Column> before, after;
        const auto add = [&](const std::string& name, const ArrayPtr& values,
                             const ArrayPtr& read) {
            before.push_back({name, values});
            after.push_back({name, read});
        };
        for (const Sample& sample : scalars()) {
            const ArrayPtr values = repeated(sample, kTimes);
            const TypePtr type = readAs(*values->type());
            const ArrayPtr read = castTo(values, type);
            add(sample.name, values, read);
            if (arrow::is_numeric(type->id()) || type->id() == arrow::Type::BOOL) {
                features.dense.push_back(sample.name);
            }
            if (isReal(*type)) {
                continue;
            }
            if (arrow::is_temporal(type->id())) {
                features.times.push_back(sample.name);
                features.ids.push_back("us_" + sample.name);
                features.dense.push_back("us_" + sample.name);
                continue;
            }
            const auto push = [&](const std::string& name, std::vector<std::string>& names) {
                const bool isHashed = type->id() == arrow::Type::BOOL;
                names.push_back(isHashed ? "h_" + name : name);
                if (isHashed) {
                    features.hashed.push_back(name);
                }
            };
            push(sample.name, features.ids);
            if (values->type_id() != arrow::Type::DICTIONARY) {
                add(sample.name + "_list", listsOf(values), listsOf(read));
                push(sample.name + "_list", features.lists);
            }
        }
        EXPECT_GE(features.dense.size(), 20U);
        EXPECT_GE(features.lists.size(), 15U);
        EXPECT_GE(features.times.size(), 10U);
        DataDirectory files;
        for (const auto& [folder, columns] : {std::pair("before", before), {"after", after}}) {
            std::filesystem::create_directories(directory_ / folder);
            std::filesystem::copy(files.parquet(strCat(folder, ".parquet"), columns, 60),
                                  directory_ / strCat(folder, "/data.parquet"));
        }
        return features;
    }

    std::string text(const std::string& folder, const Features& features) const {
        const auto list = [](const std::vector<std::string>& names) {
            std::string out;
            for (const std::string& name : names) {
                strAppend(&out, out.empty() ? "" : ", ", name);
            }
            return strCat("[", out, "]");
        };
        std::vector<std::string> both = features.ids;
        both.insert(both.end(), features.lists.begin(), features.lists.end());
        std::string steps;
        for (const std::string& name : features.hashed) {
            strAppend(&steps, "  - {name: of_", name, ", hash: {column: ", name, ", as: h_", name,
                      ", buckets: 1000003}}\n");
        }
        for (const std::string& name : features.times) {
            strAppend(&steps, "  - {name: of_", name, ", derive: {us_", name, ": epoch_us(", name,
                      ")}}\n");
        }
        return strCat("name: t\ndataset: {path: \"", directory_.path(), "/", folder,
                      "/*.parquet\"}\nrecipe:\n", steps,
                      "label: bool\nfeatures: {dense: ", list(features.dense),
                      ", ids: ", list(features.ids), ", lists: ", list(features.lists),
                      "}\nembeddings: {all: {features: ", list(both),
                      ", rows: 1000003}}\nmodel: {type: mlp, hidden: [4]}\n",
                      "batch: {rows: 64, micro_rows: 16, segment_splits: 2, seed: 7}\n");
    }
};

struct Frame {
    explicit Frame(const SeenBatch& batch) : aligned(batch.bytes.size()) {
        std::memcpy(aligned.bytes().data(), batch.bytes.data(), batch.bytes.size());
        view = *frame::FrameView::open(aligned.bytes());
    }
    frame::FrameBuffer aligned;
    frame::FrameView view;
};

std::size_t place(const frame::FrameView& view, frame::Role role, const std::string& name) {
    const int found = view.find(role, name);
    EXPECT_GE(found, 0) << name;
    return static_cast<std::size_t>(found);
}

template <class T>
bool isSame(const frame::FrameView& x, const frame::FrameView& y, std::size_t column) {
    const auto a = x.values<T>(column), b = y.values<T>(column);
    const auto from = x.offsets(column), to = y.offsets(column);
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0 &&
           std::equal(from.begin(), from.end(), to.begin(), to.end());
}

/// The features in which two frames of one layout differ.
std::vector<std::string> differing(const frame::FrameView& x, const frame::FrameView& y,
                                   const Types::Features& features) {
    std::vector<std::string> names;
    const std::size_t dense = place(x, frame::Role::kDense, "dense");
    const auto a = x.values<float>(dense), b = y.values<float>(dense);
    const std::size_t width = features.dense.size();
    for (std::size_t d = 0; d < width; ++d) {
        for (std::size_t r = 0; r < x.rows(); ++r) {
            if (a[r * width + d] != b[r * width + d]) {
                names.push_back(
                    strCat(features.dense[d], " ", a[r * width + d], " is not ", b[r * width + d]));
                break;
            }
        }
    }
    for (const auto& [role, all] :
         {std::pair(frame::Role::kId, &features.ids), {frame::Role::kList, &features.lists}}) {
        for (const std::string& name : *all) {
            if (!isSame<std::int64_t>(x, y, place(x, role, name))) {
                names.push_back(name);
            }
        }
    }
    return names;
}

TEST_F(Types, GiveTheFramesOfTheTypesThatTheyAreReadAs) {
    const Features features = write();
    RememberingSink before, after;
    ASSERT_TRUE(run(open(text("before", features)), before, 2, 1).ok());
    ASSERT_TRUE(run(open(text("after", features)), after, 1, 1).ok());
    ASSERT_EQ(before.batches().size(), (5 * kTimes + 15) / 16U);
    EXPECT_EQ(before.orderHash(), after.orderHash());
    std::map<std::string, std::set<std::int64_t>> idsOf;
    for (std::size_t i = 0; i < before.batches().size(); ++i) {
        const Frame x(before.batches()[i]), y(after.batches()[i]);
        EXPECT_EQ(differing(x.view, y.view, features), std::vector<std::string>()) << "batch " << i;
        for (const std::string& name : features.ids) {
            const auto ids = x.view.values<std::int64_t>(place(x.view, frame::Role::kId, name));
            idsOf[name].insert(ids.begin(), ids.end());
        }
    }
    for (const auto& [name, ids] : idsOf) {
        EXPECT_GE(ids.size(), 2U) << name << ": its values are not there";
    }
}

}  // namespace
}  // namespace millrace::segment
