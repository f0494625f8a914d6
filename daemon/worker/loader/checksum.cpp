#include "daemon/worker/loader/checksum.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace millrace::loader {

using frame::DType;
using frame::Role;

// A column of a frame or of a ring's batch.
struct Checksum::Column {
    Role role;
    DType dtype;
    std::uint32_t width;
    std::uint64_t items;
    std::uint64_t numValues;
    const void* data;
    const std::int64_t* offsets;
    const float* weights;
    const std::uint32_t* inverse;
};

namespace {

template <class T>
std::uint64_t sum(const void* data, std::uint64_t count) {
    const T* values = static_cast<const T*>(data);
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        // Sums wrap modulo 2^64: they do not depend on the order of rows, and negative values count
        // as their two's complement.
        total += static_cast<std::uint64_t>(values[i]);
    }
    return total;
}

std::uint64_t sumIntegers(DType dtype, const void* data, std::uint64_t count) {
    switch (dtype) {
        case DType::kUint8:
        case DType::kString:
            return sum<std::uint8_t>(data, count);
        case DType::kInt8:
            return sum<std::int8_t>(data, count);
        case DType::kUint16:
            return sum<std::uint16_t>(data, count);
        case DType::kInt16:
            return sum<std::int16_t>(data, count);
        case DType::kUint32:
            return sum<std::uint32_t>(data, count);
        case DType::kInt32:
            return sum<std::int32_t>(data, count);
        case DType::kUint64:
            return sum<std::uint64_t>(data, count);
        case DType::kInt64:
            return sum<std::int64_t>(data, count);
        case DType::kFloat32:
        case DType::kFloat64:
            break;
    }
    return 0;
}

// Sums the rows' bits: for columns that are read but are not part of the text.
std::uint64_t sumBits(const void* data, std::uint64_t count) {
    return sum<std::uint32_t>(data, count);
}

void addWeighted(std::vector<std::uint64_t>& into, const std::vector<std::uint64_t>& from) {
    into.resize(std::max(into.size(), from.size()));
    for (std::size_t i = 0; i < from.size(); ++i) {
        into[i] += from[i];
    }
}

std::uint64_t weighted(const std::vector<std::uint64_t>& values) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        // Weighted by position, so that two columns that are swapped change the text.
        total += (i + 1) * values[i];
    }
    return total;
}

template <class T>
T& at(std::vector<T>& values, std::size_t index) {
    if (index >= values.size()) {
        values.resize(index + 1);
    }
    return values[index];
}

}  // namespace

void Checksum::startFrame(std::int64_t rows) {
    rows_ += rows;
    nextDense_ = nextId_ = nextList_ = 0;
    hasLabel_ = false;
}

void Checksum::add(const frame::FrameView& frame) {
    startFrame(frame.rows());
    const int inverse = frame.inverseColumn();
    // Columns 0 and 1 are the row ids (docs/formats/frame.md).
    for (std::size_t c = 2; c < frame.numColumns(); ++c) {
        const frame::ColumnEntry& entry = frame.entry(c);
        Column column{entry.role,  entry.dtype,  entry.width,
                      entry.items, entry.values, frame.bytes().data() + entry.data.offset,
                      nullptr,     nullptr,      nullptr};
        if (entry.encoding == frame::Encoding::kLists) {
            column.offsets = frame.offsets(c).data();
        }
        if (entry.role == Role::kWeighted) {
            column.weights = frame.weights(c).data();
        }
        if ((entry.flags & frame::kDedup) != 0 && inverse >= 0) {
            column.inverse = frame.values<std::uint32_t>(static_cast<std::size_t>(inverse)).data();
        }
        addColumn(column, frame.rows());
    }
}

void Checksum::add(const millrace_batch* batch) {
    const auto rows = static_cast<std::int64_t>(millrace_batch_rows(batch));
    startFrame(rows);
    const std::size_t columns = millrace_batch_columns(batch);
    for (std::size_t c = 2; c < columns; ++c) {
        millrace_column from{};
        from.struct_size = sizeof from;
        if (millrace_batch_column(batch, c, &from) != 0) {
            continue;
        }
        addColumn(
            {static_cast<Role>(from.role), static_cast<DType>(from.dtype), from.width, from.items,
             from.num_values, from.data, from.offsets, from.weights, from.inverse},
            rows);
    }
}

void Checksum::addColumn(const Column& column, std::int64_t rows) {
    if (column.weights != nullptr) {
        others_ += sumBits(column.weights, column.numValues);
    }
    switch (column.role) {
        case Role::kRowFile:
        case Role::kRowNumber:
        case Role::kInverse:
            return;
        case Role::kLabel: {
            const float* values = static_cast<const float*>(column.data);
            double total = 0;
            for (std::int64_t r = 0; r < rows; ++r) {
                total += values[r];
            }
            // The text has the first head only; the other labels are read all the same, because the
            // sink measures the reading of every value.
            if (!hasLabel_) {
                labels_ += static_cast<std::int64_t>(total);
            }
            hasLabel_ = true;
            return;
        }
        case Role::kWeight:
            others_ += sumBits(column.data, column.numValues);
            return;
        case Role::kMask:
            others_ += sumIntegers(DType::kUint8, column.data, column.numValues);
            return;
        default:
            break;
    }
    if (column.offsets != nullptr) {
        addList(column, rows);
    } else if (column.dtype == DType::kFloat32) {
        addFloats(static_cast<const float*>(column.data), column.width, rows);
    } else {
        addInteger(column, rows);
    }
}

void Checksum::addFloats(const float* values, std::size_t width, std::int64_t rows) {
    if (dense_.size() < nextDense_ + width) {
        dense_.resize(nextDense_ + width);
    }
    double* sums = dense_.data() + nextDense_;
    nextDense_ += width;
    for (std::int64_t r = 0; r < rows; ++r) {
        // Each component of a vector is a column of its own in the text.
        for (std::size_t j = 0; j < width; ++j) {
            sums[j] += values[j];
        }
        values += width;
    }
}

// Also takes doubles, which the text counts as dense.
void Checksum::addInteger(const Column& column, std::int64_t) {
    if (column.dtype == DType::kFloat64) {
        const double* values = static_cast<const double*>(column.data);
        double& total = at(dense_, nextDense_++);
        for (std::uint64_t i = 0; i < column.numValues; ++i) {
            total += values[i];
        }
        return;
    }
    at(ids_, nextId_++) += sumIntegers(column.dtype, column.data, column.numValues);
}

void Checksum::addList(const Column& column, std::int64_t rows) {
    std::uint64_t total = 0, length = 0;
    if (column.inverse == nullptr) {
        length = static_cast<std::uint64_t>(column.offsets[rows]);
        total = sumIntegers(column.dtype, column.data, length);
        others_ += sum<std::int64_t>(column.offsets, static_cast<std::uint64_t>(rows));
    } else {
        // An item that is stored once is summed once, for all rows that have it.
        repeats_.assign(column.items, 0);
        for (std::int64_t r = 0; r < rows; ++r) {
            ++repeats_[column.inverse[r]];
        }
        const auto* const values = static_cast<const std::byte*>(column.data);
        const std::size_t bytes = frame::sizeOf(column.dtype);
        for (std::uint64_t item = 0; item < column.items; ++item) {
            const auto begin = static_cast<std::uint64_t>(column.offsets[item]);
            const auto count = static_cast<std::uint64_t>(column.offsets[item + 1]) - begin;
            total += repeats_[item] * sumIntegers(column.dtype, values + begin * bytes, count);
            length += repeats_[item] * count;
        }
    }
    at(lists_, nextList_) += total;
    at(lengths_, nextList_) += length;
    ++nextList_;
}

void Checksum::merge(const Checksum& other) {
    rows_ += other.rows_;
    labels_ += other.labels_;
    others_ += other.others_;
    dense_.resize(std::max(dense_.size(), other.dense_.size()));
    for (std::size_t j = 0; j < other.dense_.size(); ++j) {
        dense_[j] += other.dense_[j];
    }
    addWeighted(ids_, other.ids_);
    addWeighted(lists_, other.lists_);
    addWeighted(lengths_, other.lengths_);
}

std::string Checksum::text() const {
    double dense = 0;
    for (std::size_t j = 0; j < dense_.size(); ++j) {
        dense += static_cast<double>(j + 1) * dense_[j];
    }
    char text[200];
    std::snprintf(text, sizeof text, "%lld:%lld:%llu:%016llx:%016llx:%.1f",
                  static_cast<long long>(rows_), static_cast<long long>(labels_),
                  static_cast<unsigned long long>(weighted(lengths_)),
                  static_cast<unsigned long long>(weighted(ids_)),
                  static_cast<unsigned long long>(weighted(lists_)), dense);
    return text;
}

}  // namespace millrace::loader
