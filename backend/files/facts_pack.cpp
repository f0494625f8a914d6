#include "backend/files/facts_pack.h"

#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/core/hash.h"
#include "backend/filesystem/file_cache.h"
#include "backend/filesystem/files.h"

namespace millrace::files {
namespace {

// The number rises with each change of the layout: a pack of another version is built again.
constexpr std::string_view kMagic = "millrace facts 5\n";
constexpr std::size_t kSumBytes = 32;

void putNumber(std::string& out, std::int64_t value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

void putText(std::string& out, std::string_view text) {
    putNumber(out, static_cast<std::int64_t>(text.size()));
    out.append(text);
}

/// Reads the output of putNumber and putText; after a failure everything is 0 or empty.
class PackReader {
 public:
    explicit PackReader(std::string_view bytes) : rest_(bytes) {}

    std::int64_t number() {
        std::int64_t value = 0;
        if (rest_.size() < sizeof value) {
            fail();
            return 0;
        }
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_.remove_prefix(sizeof value);
        return value;
    }
    std::string_view text() {
        const std::int64_t size = number();
        if (size < 0 || static_cast<std::size_t>(size) > rest_.size()) {
            fail();
            return {};
        }
        const std::string_view text = rest_.substr(0, static_cast<std::size_t>(size));
        rest_.remove_prefix(text.size());
        return text;
    }
    /// A count of items with at least 8 bytes each.
    std::size_t count() {
        const std::int64_t value = number();
        // A damaged count must not allocate more than the file could hold.
        if (value < 0 || static_cast<std::size_t>(value) > rest_.size() / 8 + 1) {
            fail();
            return 0;
        }
        return static_cast<std::size_t>(value);
    }
    bool isFine() const { return !hasFailed_; }

 private:
    void fail() {
        hasFailed_ = true;
        rest_ = {};
    }
    std::string_view rest_;
    bool hasFailed_ = false;
};

/// Only the columns, which most files of a directory share.
std::string shapeOf(const expr::Schema& schema) {
    std::string text;
    putNumber(text, static_cast<std::int64_t>(schema.fields.size()));
    for (const expr::Field& field : schema.fields) {
        putText(text, field.name);
        putNumber(text, static_cast<std::int64_t>(field.type.kind));
        putNumber(text, field.type.isList ? 1 : 0);
        putNumber(text, field.type.listSize);
        putNumber(text, field.type.nullable ? 1 : 0);
    }
    putNumber(text, static_cast<std::int64_t>(schema.refused.size()));
    for (const expr::RefusedColumn& column : schema.refused) {
        putText(text, column.name);
        putText(text, column.why);
        putNumber(text, column.hasFields ? 1 : 0);
    }
    return text;
}

bool readShape(PackReader& reader, expr::Schema& schema) {
    schema.fields.resize(reader.count());
    for (expr::Field& field : schema.fields) {
        field.name = reader.text();
        const std::int64_t kind = reader.number();
        if (kind < 0 || kind > static_cast<std::int64_t>(expr::TypeKind::kTimestamp)) {
            return false;
        }
        field.type.kind = static_cast<expr::TypeKind>(kind);
        field.type.isList = reader.number() != 0;
        field.type.listSize = static_cast<std::int32_t>(reader.number());
        field.type.nullable = reader.number() != 0;
    }
    schema.refused.resize(reader.count());
    for (expr::RefusedColumn& column : schema.refused) {
        column.name = reader.text();
        column.why = reader.text();
        column.hasFields = reader.number() != 0;
    }
    return reader.isFine();
}

void putFacts(std::string& out, const FileMetadata& facts) {
    putNumber(out, facts.rows);
    putText(out, facts.contentHash);
    putText(out, facts.etag);
    putText(out, csvFactsText(facts));
    putNumber(out, static_cast<std::int64_t>(facts.chunks.size()));
    for (const ColumnChunkMetadata& chunk : facts.chunks) {
        for (const std::int64_t value : {chunk.rows, chunk.offset, chunk.bytes, chunk.firstLine}) {
            putNumber(out, value);
        }
        putNumber(out, static_cast<std::int64_t>(chunk.decodedBytes.size()));
        for (const std::int64_t value : chunk.decodedBytes) {
            putNumber(out, value);
        }
    }
}

bool readInto(PackReader& reader, FileMetadata& facts) {
    facts.rows = reader.number();
    facts.contentHash = reader.text();
    facts.etag = reader.text();
    if (!readCsvFacts(reader.text(), facts).ok()) {
        return false;
    }
    facts.chunks.resize(reader.count());
    for (ColumnChunkMetadata& chunk : facts.chunks) {
        chunk.rows = reader.number();
        chunk.offset = reader.number();
        chunk.bytes = reader.number();
        chunk.firstLine = reader.number();
        chunk.decodedBytes.resize(reader.count());
        for (std::int64_t& value : chunk.decodedBytes) {
            value = reader.number();
        }
        if (chunk.decodedBytes.size() != facts.schema.fields.size()) {
            return false;
        }
    }
    return reader.isFine();
}

std::string packText(const FactsByKey& facts) {
    std::vector<std::string> shapes;
    std::unordered_map<std::string, std::int64_t> numbers;
    std::string entries;
    const FileMetadata* last = nullptr;
    std::int64_t shape = 0;
    for (const auto& [key, one] : facts) {
        // Neighbours are mostly files of one directory with one schema: the text is made once for
        // them.
        if (last == nullptr || !(last->schema == one->schema)) {
            std::string text = shapeOf(one->schema);
            const auto [at, isNew] =
                numbers.emplace(text, static_cast<std::int64_t>(shapes.size()));
            if (isNew) {
                shapes.push_back(std::move(text));
            }
            shape = at->second;
        }
        last = one.get();
        putText(entries, key);
        putNumber(entries, shape);
        putFacts(entries, *one);
    }
    std::string text(kMagic);
    putNumber(text, static_cast<std::int64_t>(shapes.size()));
    for (const std::string& each : shapes) {
        putText(text, each);
    }
    putNumber(text, static_cast<std::int64_t>(facts.size()));
    text += entries;
    text += hashHex(text);
    return text;
}

std::string_view pathOf(std::string_view key) {
    return key.substr(0, key.find('\n'));
}

}  // namespace

// One pack for each directory and set of read options: a dataset of thousands of files costs one
// read.
std::string packPath(const std::string& cacheDirectory, const std::string& key) {
    const std::string_view path = pathOf(key);
    const std::string_view options = std::string_view(key).substr(key.rfind('\n') + 1);
    const std::string_view directory = path.substr(0, path.rfind('/') + 1);
    return strCat(cacheDirectory, "/", hashHex(strCat(directory, "\n", options)), ".pack");
}

FactsByKey readPack(const std::string& path) {
    const Result<std::string> text = readFile(path);
    if (!text.ok() || text->size() < kMagic.size() + kSumBytes || !text->starts_with(kMagic)) {
        return {};
    }
    const std::string_view body = std::string_view(*text).substr(0, text->size() - kSumBytes);
    // A cache that is damaged counts as empty; its facts would shape the plan.
    if (hashHex(body) != std::string_view(*text).substr(body.size())) {
        return {};
    }
    PackReader reader(body.substr(kMagic.size()));
    std::vector<expr::Schema> shapes(reader.count());
    for (expr::Schema& shape : shapes) {
        PackReader columns(reader.text());
        if (!readShape(columns, shape)) {
            return {};
        }
    }
    FactsByKey pack;
    const std::size_t count = reader.count();
    for (std::size_t i = 0; i < count && reader.isFine(); ++i) {
        std::string key(reader.text());
        const auto shape = static_cast<std::size_t>(reader.number());
        if (shape >= shapes.size()) {
            return {};
        }
        FileMetadata facts;
        facts.schema = shapes[shape];
        if (!readInto(reader, facts)) {
            return {};
        }
        // Keys were written in order.
        pack.emplace_hint(pack.end(), std::move(key),
                          std::make_shared<const FileMetadata>(std::move(facts)));
    }
    return pack;
}

void addToPack(const std::string& cacheDirectory, const std::string& path, FactsByKey pack,
               const FactsByKey& added) {
    if (!makeDirectories(cacheDirectory, 0700).ok()) {
        return;
    }
    // Keys of one file are adjacent: its path is their first line.
    for (const auto& [key, facts] : added) {
        const std::string own = strCat(pathOf(key), "\n");
        auto at = pack.lower_bound(own);
        while (at != pack.end() && at->first.starts_with(own)) {
            at = pack.erase(at);
        }
        pack.emplace(key, facts);
    }
    // Not synced: a lost or torn pack is rebuilt.
    writeFileAtomic(path, packText(pack), 0600).IgnoreError();
    boundFileCache(cacheDirectory, {kCacheBytesMax, kCacheBytesMax / 2});
}

}  // namespace millrace::files
