#include <cstdlib>
#include <map>
#include <set>

#include "backend/frame/frame.h"

namespace millrace::frame {
namespace {

constexpr std::size_t kMaxNameBytes = 1024;

Status parseHash(std::string_view hex, std::uint8_t (&out)[16]) {
    if (hex.empty()) {
        return okStatus();
    }
    if (hex.size() != 32 || hex.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
        return invalidArgument("frame layout: '", hex, "' is not a stream hash of 32 hex digits");
    }
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (std::size_t i = 0; i < 16; ++i) {
        out[i] = static_cast<std::uint8_t>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    }
    return okStatus();
}

/// Rejects, with the column's name, what checkFrame would reject later.
Status checkColumn(const ColumnSpec& c) {
    if (c.name.size() > kMaxNameBytes) {
        return invalidArgument("frame layout: a column's name is longer than ", kMaxNameBytes,
                               " bytes");
    }
    const bool lists = c.encoding == Encoding::kLists;
    if (sizeOf(c.dtype) == 0 || c.width == 0 || (lists && c.width != 1) ||
        (c.dtype == DType::kString && !lists)) {
        return invalidArgument("frame layout: column '", c.name,
                               "' has an impossible type or width");
    }
    if (c.role == Role::kRowFile || c.role == Role::kRowNumber) {
        return invalidArgument("frame layout: column '", c.name, "': row ids are always there");
    }
    if (c.group != 0 && !lists) {
        return invalidArgument("frame layout: column '", c.name, "': only lists have a group");
    }
    return okStatus();
}

}  // namespace

Result<FrameLayout> FrameLayout::make(std::vector<ColumnSpec> columns,
                                      std::string_view streamHash) {
    FrameLayout layout;
    RETURN_IF_ERROR(parseHash(streamHash, layout.streamHash_));
    layout.columns_.push_back(ColumnSpec::fixed(Role::kRowFile, DType::kUint32, "row_file"));
    layout.columns_.push_back(ColumnSpec::fixed(Role::kRowNumber, DType::kUint64, "row_number"));
    bool dedup = false, inverse = false;
    std::set<std::pair<Role, std::string>> seen;
    for (ColumnSpec& column : columns) {
        RETURN_IF_ERROR(checkColumn(column));
        if (!seen.emplace(column.role, column.name).second) {
            return invalidArgument("frame layout: column '", column.name, "' appears twice");
        }
        dedup |= column.dedup;
        inverse |= column.role == Role::kInverse;
        layout.columns_.push_back(std::move(column));
    }
    if (dedup && !inverse) {
        layout.columns_.push_back(ColumnSpec::fixed(Role::kInverse, DType::kUint32, "requests"));
    }
    if (layout.columns_.size() > kMaxColumns) {
        return invalidArgument("frame layout: more than ", kMaxColumns, " columns");
    }
    std::map<std::uint16_t, std::uint32_t> groups;
    for (std::uint32_t c = 0; c < layout.columns_.size(); ++c) {
        const ColumnSpec& column = layout.columns_[c];
        if (column.role == Role::kInverse) {
            layout.inverse_ = static_cast<int>(c);
        }
        const std::uint32_t owner =
            column.group == 0 ? c : groups.emplace(column.group, c).first->second;
        if (layout.columns_[owner].dedup != column.dedup) {
            return invalidArgument("frame layout: column '", column.name,
                                   "': a group is deduplicated as a whole or not at all");
        }
        layout.offsetsOwner_.push_back(owner);
        layout.nameOffsets_.push_back(static_cast<std::uint32_t>(layout.names_.size()));
        layout.names_ += column.name;
    }
    layout.directoryBytes_ =
        alignUp(layout.columns_.size() * sizeof(ColumnEntry) + layout.names_.size());
    return layout;
}

int FrameLayout::find(Role role, std::string_view name) const {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (columns_[c].role == role && columns_[c].name == name) {
            return static_cast<int>(c);
        }
    }
    return -1;
}

FrameBuffer::FrameBuffer(std::size_t bytes)
    : data_(static_cast<std::byte*>(
          std::aligned_alloc(kPayloadAlignment, alignUp(bytes == 0 ? 1 : bytes)))),
      size_(bytes) {
    INVARIANT(data_ != nullptr, "memory for a frame");
}

void FrameBuffer::Free::operator()(std::byte* p) const {
    std::free(p);
}

}  // namespace millrace::frame
