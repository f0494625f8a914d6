#include "backend/ring/feed_batch.h"

#include <cstring>

using millrace::frame::ColumnEntry;
namespace frame = millrace::frame;

namespace {

void fillColumn(const millrace_batch& batch, const ColumnEntry& e, millrace_column& column) {
    const ColumnEntry* entries = batch.entries();
    const auto at = [&](const frame::Extent& extent) { return batch.bytes + extent.offset; };
    const bool lists = e.encoding == frame::Encoding::kLists;
    column = millrace_column{};
    column.name = batch.names() + e.nameOffset;
    column.name_bytes = e.nameBytes;
    column.role = static_cast<std::uint32_t>(e.role);
    column.dtype = static_cast<std::uint32_t>(e.dtype);
    column.width = e.width;
    column.items = e.items;
    column.num_values = e.values;
    column.data = at(e.data);
    if (lists) {
        column.offsets = reinterpret_cast<const std::int64_t*>(at(e.offsets));
    }
    if (e.role == frame::Role::kWeighted) {
        column.weights = reinterpret_cast<const float*>(at(e.weights));
    }
    for (std::uint32_t c = 0; (e.flags & frame::kDedup) != 0 && c < batch.header().columns; ++c) {
        if (entries[c].role == frame::Role::kInverse) {
            column.inverse = reinterpret_cast<const std::uint32_t*>(at(entries[c].data));
        }
    }
}

}  // namespace

std::uint64_t millrace_batch_number(const millrace_batch* batch) {
    return batch->number;
}

std::uint32_t millrace_batch_epoch(const millrace_batch* batch) {
    return batch->epoch;
}

std::uint64_t millrace_batch_rows(const millrace_batch* batch) {
    return batch->header().rows;
}

std::uint64_t millrace_batch_bytes(const millrace_batch* batch) {
    return batch->size;
}

std::size_t millrace_batch_columns(const millrace_batch* batch) {
    return batch->header().columns;
}

int millrace_batch_column(const millrace_batch* batch, std::size_t index, millrace_column* column) {
    if (index >= batch->header().columns) {
        return MILLRACE_FEED_INVALID;
    }
    fillColumn(*batch, batch->entries()[index], *column);
    return 0;
}

int millrace_batch_find(const millrace_batch* batch, std::uint32_t role, const char* name,
                        millrace_column* column) {
    const std::size_t bytes = name == nullptr ? 0 : std::strlen(name);
    for (std::uint32_t c = 0; c < batch->header().columns; ++c) {
        const ColumnEntry& e = batch->entries()[c];
        const bool isNamed =
            name == nullptr ||
            (e.nameBytes == bytes && std::memcmp(batch->names() + e.nameOffset, name, bytes) == 0);
        if (static_cast<std::uint32_t>(e.role) == role && isNamed) {
            fillColumn(*batch, e, *column);
            return 0;
        }
    }
    return MILLRACE_FEED_INVALID;
}

void millrace_batch_release(millrace_batch* batch) {
    // In a forked child everything here is the parent's: nothing is touched.
    if (batch != nullptr && batch->ring->isOwn()) {
        batch->ring->release(batch->index);
        batch->held->fetch_sub(1);
        delete batch;
    }
}
