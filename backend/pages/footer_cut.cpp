#include "backend/pages/footer_cut.h"

#include <cstdint>
#include <utility>

#include "backend/pages/compact_reader.h"

namespace millrace::pages {
namespace {

using arrays::ByteSpan;

// Field numbers of parquet.thrift.
enum Footer : int { kSchema = 2, kRowGroups = 4, kKeyValues = 5, kColumnOrders = 7, kSecrets = 8 };
enum Element : int { kType = 1, kName = 4, kNumChildren = 5 };
enum Group : int { kColumns = 1, kSortedBy = 4 };
enum Chunk : int { kChunkSecrets = 8 };

// With fewer leaves, or with most of them kept, parsing is cheaper than cutting.
constexpr std::size_t kLeavesWorthACut = 64;

std::string_view textOf(ByteSpan bytes) {
    return {reinterpret_cast<const char*>(bytes.begin), static_cast<std::size_t>(bytes.size())};
}

/// Writes structs field by field, in the order of the fields' numbers.
class CompactWriter {
 public:
    explicit CompactWriter(std::string& out) : out_(out) {}

    void head(int id, int type) {
        const int step = id - last_;
        if (step >= 1 && step <= 15) {
            byte(step << 4 | type);
        } else {
            byte(type);
            number(id);
        }
        last_ = id;
    }
    void field(int id, int type, ByteSpan value) {
        head(id, type);
        out_ += textOf(value);
    }
    void listHead(std::size_t size, int type) {
        byte((size < 15 ? static_cast<int>(size) : 15) << 4 | type);
        if (size >= 15) {
            varint(size);
        }
    }
    /// Writes i16, i32 and i64 like Thrift.
    void number(std::int64_t value) {
        varint(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
    }
    void end() { byte(kStop); }

 private:
    void byte(int value) { out_.push_back(static_cast<char>(value)); }
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) {
            byte(static_cast<int>(value & 0x7f) | 0x80);
        }
        byte(static_cast<int>(value));
    }

    std::string& out_;
    int last_ = 0;
};

struct SchemaElement {
    ByteSpan bytes;
    std::string_view name;
    std::int32_t children = 0;
    bool hasType = false;
};

class Cutter {
 public:
    Cutter(std::string_view footer, const ColumnNames& columns) : columns_(columns) {
        const auto* const begin = reinterpret_cast<const std::uint8_t*>(footer.data());
        bytes_ = {begin, begin + footer.size()};
    }

    std::optional<std::string> run() {
        CompactReader reader(bytes_);
        CompactWriter writer(out_);
        int id = 0, type = 0, last = 0;
        while (isWhole_ && reader.field(id, type)) {
            isWhole_ = id > last && id < kSecrets;
            last = id;
            if (id == kSchema && type == kList) {
                schema(reader, writer);
            } else if (id == kRowGroups && type == kList) {
                rowGroups(reader, writer);
            } else if (id == kColumnOrders && type == kList) {
                writer.head(id, type);
                keptLeaves(reader, false);
            } else if (id == kKeyValues) {
                reader.skip(type);
            } else {
                copy(reader, writer, id, type);
            }
        }
        if (!isWhole_ || !reader.isFine() || leaves_.empty()) {
            return std::nullopt;
        }
        writer.end();
        return std::move(out_);
    }

 private:
    static void copy(CompactReader& reader, CompactWriter& writer, int id, int type) {
        const std::uint8_t* const begin = reader.at();
        reader.skip(type);
        writer.field(id, type, {begin, reader.at()});
    }

    void schema(CompactReader& reader, CompactWriter& writer) {
        int type = 0;
        std::vector<SchemaElement> elements(reader.list(type));
        isWhole_ = isWhole_ && type == kStruct && !elements.empty();
        for (std::size_t i = 0; i < elements.size() && isWhole_; ++i) {
            elements[i] = element(reader);
        }
        isWhole_ = isWhole_ && reader.isFine();
        std::int32_t fields = 0;
        std::vector<ByteSpan> kept;
        for (std::size_t at = 1; at < elements.size() && isWhole_; ++fields) {
            const bool isKept = columns_.contains(std::string(elements[at].name));
            keptFields_ += isKept ? 1 : 0;
            subTree(elements, at, isKept, kept);
        }
        isWhole_ = isWhole_ && fields == elements.front().children && numLeaves_ > 0 &&
                   leaves_.size() >= kLeavesWorthACut && numLeaves_ <= leaves_.size() / 2;
        if (!isWhole_) {
            return;
        }
        writer.head(kSchema, kList);
        writer.listHead(kept.size() + 1, kStruct);
        root(elements.front().bytes);
        for (const ByteSpan bytes : kept) {
            out_ += textOf(bytes);
        }
    }

    static SchemaElement element(CompactReader& reader) {
        SchemaElement element;
        const std::uint8_t* const begin = reader.at();
        int id = 0, type = 0;
        while (reader.field(id, type)) {
            if (id == kName && type == kBinary) {
                element.name = textOf(reader.binary());
            } else if (id == kNumChildren && type == kI32) {
                element.children = reader.i32();
            } else {
                element.hasType = element.hasType || id == kType;
                reader.skip(type);
            }
        }
        element.bytes = {begin, reader.at()};
        return element;
    }

    /// Takes one child of the root with its subtree; moves `at` to the next child.
    void subTree(const std::vector<SchemaElement>& elements, std::size_t& at, bool isKept,
                 std::vector<ByteSpan>& kept) {
        for (std::int64_t open = 1; open > 0 && isWhole_; --open, ++at) {
            // A group without fields is neither a leaf nor above one.
            isWhole_ = at < elements.size() && elements[at].children >= 0 &&
                       (elements[at].children > 0 || elements[at].hasType);
            if (!isWhole_) {
                return;
            }
            open += elements[at].children;
            if (elements[at].children == 0) {
                leaves_.push_back(isKept);
                numLeaves_ += isKept ? 1 : 0;
            }
            if (isKept) {
                kept.push_back(elements[at].bytes);
            }
        }
    }

    /// Writes the root with its new number of children.
    void root(ByteSpan bytes) {
        CompactReader reader(bytes);
        CompactWriter writer(out_);
        int id = 0, type = 0, last = 0;
        while (reader.field(id, type)) {
            isWhole_ = isWhole_ && id > last;
            last = id;
            if (id == kNumChildren) {
                reader.skip(type);
                writer.head(id, type);
                writer.number(keptFields_);
            } else {
                copy(reader, writer, id, type);
            }
        }
        writer.end();
    }

    void rowGroups(CompactReader& reader, CompactWriter& writer) {
        int type = 0;
        const std::uint64_t groups = reader.list(type);
        isWhole_ = isWhole_ && type == kStruct;
        writer.head(kRowGroups, kList);
        writer.listHead(groups, kStruct);
        for (std::uint64_t g = 0; g < groups && isWhole_; ++g) {
            rowGroup(reader);
        }
    }

    void rowGroup(CompactReader& reader) {
        CompactWriter writer(out_);
        int id = 0, type = 0, last = 0;
        while (isWhole_ && reader.field(id, type)) {
            isWhole_ = id > last;
            last = id;
            if (id == kColumns && type == kList) {
                writer.head(id, type);
                keptLeaves(reader, true);
            } else if (id == kSortedBy) {
                reader.skip(type);
            } else {
                copy(reader, writer, id, type);
            }
        }
        writer.end();
        isWhole_ = isWhole_ && reader.isFine();
    }

    /// Copies a list with one struct per leaf, without those of dropped leaves.
    void keptLeaves(CompactReader& reader, bool isChunks) {
        int type = 0;
        const std::uint64_t size = reader.list(type);
        isWhole_ = isWhole_ && type == kStruct && size == leaves_.size();
        CompactWriter(out_).listHead(numLeaves_, kStruct);
        for (std::size_t leaf = 0; leaf < size && isWhole_; ++leaf) {
            const std::uint8_t* const begin = reader.at();
            int id = 0, field = 0;
            while (reader.field(id, field)) {
                isWhole_ = isWhole_ && !(isChunks && id >= kChunkSecrets);
                reader.skip(field);
            }
            if (leaves_[leaf]) {
                out_ += textOf({begin, reader.at()});
            }
            isWhole_ = isWhole_ && reader.isFine();
        }
    }

    const ColumnNames& columns_;
    ByteSpan bytes_;
    std::string out_;
    std::vector<bool> leaves_;  ///< whether each leaf is kept
    std::size_t numLeaves_ = 0;
    std::int32_t keptFields_ = 0;
    bool isWhole_ = true;  ///< false if anything unexpected was found
};

}  // namespace

ColumnNames withStructs(const std::vector<std::string>& columns) {
    ColumnNames names;
    for (const std::string& column : columns) {
        for (std::size_t dot = column.find('.'); dot != std::string::npos;
             dot = column.find('.', dot + 1)) {
            names.insert(column.substr(0, dot));
        }
        names.insert(column);
    }
    return names;
}

std::optional<std::string> cutFooter(std::string_view footer, const ColumnNames& columns) {
    return Cutter(footer, columns).run();
}

}  // namespace millrace::pages
