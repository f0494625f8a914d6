#include "backend/runs/metrics/metric_chunk.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <xxhash.h>
#include <zstd.h>

#include "backend/runs/metrics/decimate.h"

namespace millrace::runs {
namespace {

static_assert(std::endian::native == std::endian::little, "the layout is little-endian");

constexpr int kZstdLevel = 1;
// A plot reads many small levels: decompressing them would cost more than the bytes saved.
constexpr std::size_t kMostPlainPoints = 256;
constexpr std::uint8_t kVersion = 1;
enum class Kind : std::uint8_t { kPoints = 1, kLevel = 2 };
enum class Codec : std::uint8_t { kZstd = 0, kPlain = 1 };
enum class Deltas : std::uint8_t { kVarying = 0, kConstant = 1 };
enum class Ranks : std::uint8_t { kNone = 0, kSeveral = 1 };

// Precedes the compressed columns.
struct Header {
    std::uint64_t checksum;  // XXH3-64 of everything behind it
    std::uint8_t version;
    std::uint8_t kind;
    std::uint8_t codec;
    std::uint8_t reserved;
    std::uint32_t numPoints;
    std::uint32_t columnBytes;  // decompressed
    std::uint32_t reserved2;
};
static_assert(sizeof(Header) == 24);
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);
// A damaged header must not make a reader allocate without bounds. A column needs at most ten bytes
// per point; no chunk is longer than one seal can be.
constexpr std::uint32_t kMostPoints = 1 << 20;
constexpr std::size_t kColumns = 10, kDoubles = 3, kMostVarintBytes = 10;

std::uint64_t zigzag(std::uint64_t delta) {
    return (delta << 1) ^ (0 - (delta >> 63));
}

std::uint64_t unzigzag(std::uint64_t value) {
    return (value >> 1) ^ (0 - (value & 1));
}

void putVarint(std::uint64_t value, std::string& out) {
    while (value >= 0x80) {
        out += static_cast<char>(value | 0x80);
        value >>= 7;
    }
    out += static_cast<char>(value);
}

// The first value, then the differences (mod 2^64); a single difference if all are equal.
template <class Item, class Get>
void putIntegers(std::span<const Item> items, Get get, std::string& out) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint64_t>(get(items[i])); };
    const std::uint64_t delta = items.size() > 1 ? at(1) - at(0) : 0;
    bool isConstant = true;
    for (std::size_t i = 1; i < items.size() && isConstant; ++i) {
        isConstant = at(i) - at(i - 1) == delta;
    }
    out += static_cast<char>(isConstant ? Deltas::kConstant : Deltas::kVarying);
    putVarint(zigzag(at(0)), out);
    if (isConstant) {
        putVarint(zigzag(delta), out);
        return;
    }
    for (std::size_t i = 1; i < items.size(); ++i) {
        putVarint(zigzag(at(i) - at(i - 1)), out);
    }
}

// Byte planes: the first bytes of all values, then the second ones, and so on. This groups signs
// and exponents, and the zeros of values that once were floats.
template <class Item, class Get>
void putDoubles(std::span<const Item> items, Get get, std::string& out) {
    const std::size_t start = out.size(), count = items.size();
    out.resize(start + count * sizeof(double));
    for (std::size_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<std::uint64_t>(get(items[i]));
        for (std::size_t plane = 0; plane < sizeof(double); ++plane) {
            out[start + plane * count + i] = static_cast<char>(bits >> (8 * plane));
        }
    }
}

// A point without ranks among points with ranks is written with zeros.
template <class Item, class Get>
void putRanks(std::span<const Item> items, Get get, std::string& out) {
    const auto of = [&](const Item& i) { return get(i).ranks.value_or(values::RankSpread{}); };
    putIntegers(items, [&](const Item& i) { return of(i).numRanks; }, out);
    putIntegers(items, [&](const Item& i) { return of(i).leastRank; }, out);
    putIntegers(items, [&](const Item& i) { return of(i).greatestRank; }, out);
    putDoubles(items, [&](const Item& i) { return of(i).least; }, out);
    putDoubles(items, [&](const Item& i) { return of(i).greatest; }, out);
}

template <class Item, class Get>
void putColumns(std::span<const Item> items, Get get, std::string& out) {
    putIntegers(items, [&](const Item& i) { return get(i).step; }, out);
    putIntegers(items, [&](const Item& i) { return get(i).epoch; }, out);
    putIntegers(items, [&](const Item& i) { return get(i).rows; }, out);
    putIntegers(items, [&](const Item& i) { return get(i).timeMs; }, out);
    putIntegers(items, [&](const Item& i) { return get(i).attempt; }, out);
    putIntegers(items, [&](const Item& i) { return get(i).line; }, out);
    putDoubles(items, [&](const Item& i) { return get(i).value; }, out);
    const bool isOfRanks =
        std::ranges::any_of(items, [&](const Item& i) { return get(i).ranks.has_value(); });
    out += static_cast<char>(isOfRanks ? Ranks::kSeveral : Ranks::kNone);
    if (isOfRanks) {
        putRanks(items, get, out);
    }
}

std::string packed(Kind kind, std::size_t numPoints, const std::string& columns) {
    const bool isPlain = kind == Kind::kLevel && numPoints <= kMostPlainPoints;
    std::string out(sizeof(Header), '\0');
    if (isPlain) {
        out += columns;
    } else {
        out.resize(sizeof(Header) + ZSTD_compressBound(columns.size()));
        const std::size_t bytes =
            ZSTD_compress(out.data() + sizeof(Header), out.size() - sizeof(Header), columns.data(),
                          columns.size(), kZstdLevel);
        INVARIANT(ZSTD_isError(bytes) == 0, "the buffer holds the worst case");
        out.resize(sizeof(Header) + bytes);
    }
    Header header{0,
                  kVersion,
                  static_cast<std::uint8_t>(kind),
                  static_cast<std::uint8_t>(isPlain ? Codec::kPlain : Codec::kZstd),
                  0,
                  static_cast<std::uint32_t>(numPoints),
                  static_cast<std::uint32_t>(columns.size()),
                  0};
    std::memcpy(out.data(), &header, sizeof(header));
    header.checksum = XXH3_64bits(out.data() + kChecksumBytes, out.size() - kChecksumBytes);
    std::memcpy(out.data(), &header.checksum, kChecksumBytes);
    return out;
}

struct Unpacked {
    std::size_t numPoints = 0;
    std::string columns;
};

Result<Unpacked> unpacked(Kind kind, std::string_view bytes) {
    Header header{};
    if (bytes.size() < sizeof(header)) {
        return dataLoss("it is cut off");
    }
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (XXH3_64bits(bytes.data() + kChecksumBytes, bytes.size() - kChecksumBytes) !=
        header.checksum) {
        return dataLoss("its checksum is wrong");
    }
    if (header.version != kVersion || header.kind != static_cast<std::uint8_t>(kind)) {
        return dataLoss("it is of another kind or version (", int{header.kind}, ", ",
                        int{header.version}, ")");
    }
    const std::size_t most =
        header.numPoints * (kColumns * kMostVarintBytes + kDoubles * sizeof(double)) + 64;
    if (header.numPoints == 0 || header.numPoints > kMostPoints || header.columnBytes > most) {
        return dataLoss("its header makes no sense");
    }
    const std::string_view rest = bytes.substr(sizeof(header));
    if (header.codec == static_cast<std::uint8_t>(Codec::kPlain)) {
        return Unpacked{header.numPoints, std::string(rest)};
    }
    Unpacked out{header.numPoints, std::string(header.columnBytes, '\0')};
    const std::size_t got =
        ZSTD_decompress(out.columns.data(), out.columns.size(), rest.data(), rest.size());
    if (ZSTD_isError(got) != 0 || got != out.columns.size()) {
        return dataLoss("it does not decompress");
    }
    return out;
}

// Reads columns from left to right; a short column sets isBad().
class ColumnReader {
 public:
    explicit ColumnReader(const Unpacked& unpacked)
        : at_(unpacked.columns.data()),
          end_(at_ + unpacked.columns.size()),
          numPoints_(unpacked.numPoints) {}

    template <class Set>
    void integers(Set set) {
        const auto mode = at_ < end_ ? static_cast<Deltas>(*at_++) : Deltas::kVarying;
        std::uint64_t value = unzigzag(varint());
        set(0, static_cast<std::int64_t>(value));
        const std::uint64_t constant = mode == Deltas::kConstant ? unzigzag(varint()) : 0;
        for (std::size_t i = 1; i < numPoints_; ++i) {
            value += mode == Deltas::kConstant ? constant : unzigzag(varint());
            set(i, static_cast<std::int64_t>(value));
        }
    }

    template <class Set>
    void doubles(Set set) {
        if (static_cast<std::size_t>(end_ - at_) < numPoints_ * sizeof(double)) {
            isBad_ = true;
            return;
        }
        for (std::size_t i = 0; i < numPoints_; ++i) {
            std::uint64_t bits = 0;
            for (std::size_t plane = 0; plane < sizeof(double); ++plane) {
                bits |= std::uint64_t{static_cast<std::uint8_t>(at_[plane * numPoints_ + i])}
                        << (8 * plane);
            }
            set(i, std::bit_cast<double>(bits));
        }
        at_ += numPoints_ * sizeof(double);
    }

    /// Whether columns of ranks follow.
    bool isOfRanks() {
        const auto told = at_ < end_ ? static_cast<std::uint8_t>(*at_++) : std::uint8_t{0xff};
        isBad_ = isBad_ || told > static_cast<std::uint8_t>(Ranks::kSeveral);
        return told == static_cast<std::uint8_t>(Ranks::kSeveral);
    }

    /// Also true if bytes are left over.
    bool isBad() const { return isBad_ || at_ != end_; }

 private:
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64 && at_ < end_; shift += 7) {
            const auto byte = static_cast<std::uint8_t>(*at_++);
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if (byte < 0x80) {
                return value;
            }
        }
        isBad_ = true;
        return 0;
    }

    const char* at_;
    const char* end_;
    const std::size_t numPoints_;
    bool isBad_ = false;
};

template <class PointAt>
void readRanks(ColumnReader& reader, PointAt at) {
    const auto of = [&](std::size_t i, auto set) {
        if (at(i).ranks) {
            set(*at(i).ranks);
        }
    };
    reader.integers([&](std::size_t i, std::int64_t v) {
        if (v > 0) {
            at(i).ranks.emplace().numRanks = static_cast<int>(v);
        }
    });
    reader.integers([&](std::size_t i, std::int64_t v) {
        of(i, [v](values::RankSpread& ranks) { ranks.leastRank = static_cast<int>(v); });
    });
    reader.integers([&](std::size_t i, std::int64_t v) {
        of(i, [v](values::RankSpread& ranks) { ranks.greatestRank = static_cast<int>(v); });
    });
    reader.doubles([&](std::size_t i, double v) {
        of(i, [v](values::RankSpread& ranks) { ranks.least = v; });
    });
    reader.doubles([&](std::size_t i, double v) {
        of(i, [v](values::RankSpread& ranks) { ranks.greatest = v; });
    });
}

template <class PointAt>
void readColumns(ColumnReader& reader, PointAt at) {
    reader.integers([&](std::size_t i, std::int64_t v) { at(i).step = v; });
    reader.integers([&](std::size_t i, std::int64_t v) { at(i).epoch = v; });
    reader.integers([&](std::size_t i, std::int64_t v) { at(i).rows = v; });
    reader.integers([&](std::size_t i, std::int64_t v) { at(i).timeMs = v; });
    reader.integers([&](std::size_t i, std::int64_t v) { at(i).attempt = static_cast<int>(v); });
    reader.integers([&](std::size_t i, std::int64_t v) { at(i).line = v; });
    reader.doubles([&](std::size_t i, double v) { at(i).value = v; });
    if (reader.isOfRanks()) {
        readRanks(reader, at);
    }
}

std::vector<PlacedPoint> extremesOf(std::span<const values::MetricPoint> points,
                                    std::size_t bucket) {
    std::vector<std::size_t> places{0};
    for (std::size_t from = 0; from < points.size(); from += bucket) {
        addExtremes(points, from, std::min(from + bucket, points.size()), places);
    }
    places.push_back(points.size() - 1);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    std::vector<PlacedPoint> out;
    out.reserve(places.size());
    for (const std::size_t place : places) {
        out.push_back({static_cast<std::int64_t>(place), points[place]});
    }
    return out;
}

}  // namespace

std::string encodePoints(std::span<const values::MetricPoint> points) {
    INVARIANT(!points.empty(), "a chunk has points");
    std::string columns;
    columns.reserve(points.size() * 14);
    putColumns(
        points, [](const values::MetricPoint& p) -> const values::MetricPoint& { return p; },
        columns);
    return packed(Kind::kPoints, points.size(), columns);
}

Result<std::vector<values::MetricPoint>> decodePoints(std::string_view bytes) {
    ASSIGN_OR_RETURN(const Unpacked unpackedBytes, unpacked(Kind::kPoints, bytes));
    std::vector<values::MetricPoint> points(unpackedBytes.numPoints);
    ColumnReader reader(unpackedBytes);
    readColumns(reader, [&](std::size_t i) -> values::MetricPoint& { return points[i]; });
    if (reader.isBad()) {
        return dataLoss("its columns have the wrong length");
    }
    return points;
}

std::string encodeLevel(std::span<const values::MetricPoint> points, int bucketPoints) {
    INVARIANT(!points.empty(), "a chunk has points");
    const std::vector<PlacedPoint> kept =
        extremesOf(points, static_cast<std::size_t>(bucketPoints));
    const std::span<const PlacedPoint> items(kept);
    std::string columns;
    putIntegers(items, [](const PlacedPoint& p) { return p.place; }, columns);
    putColumns(
        items, [](const PlacedPoint& p) -> const values::MetricPoint& { return p.point; }, columns);
    return packed(Kind::kLevel, kept.size(), columns);
}

Result<std::vector<PlacedPoint>> decodeLevel(std::string_view bytes) {
    ASSIGN_OR_RETURN(const Unpacked unpackedBytes, unpacked(Kind::kLevel, bytes));
    std::vector<PlacedPoint> points(unpackedBytes.numPoints);
    ColumnReader reader(unpackedBytes);
    reader.integers([&](std::size_t i, std::int64_t v) { points[i].place = v; });
    readColumns(reader, [&](std::size_t i) -> values::MetricPoint& { return points[i].point; });
    if (reader.isBad()) {
        return dataLoss("its columns have the wrong length");
    }
    return points;
}

}  // namespace millrace::runs
