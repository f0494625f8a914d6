#include "app/gui/models/curve_store.h"

#include <algorithm>
#include <cmath>

namespace millrace::gui {
namespace {

constexpr std::size_t kFirstFan = 16;
constexpr std::size_t kFan = 4;
// A pause lasts at least this long, and this many times as long as the intervals near it, ...
constexpr double kPauseMs = 1'500, kUsualIntervals = 3;
// ... which are the 16 on either side. If three of them are as long, the interval counts as usual:
// points that were thinned out have uneven intervals.
constexpr std::size_t kIntervalsMax = 16, kLongMax = 3;

std::size_t divideUp(std::size_t value, std::size_t by) {
    return (value + by - 1) / by;
}

/// The first index in [begin, size) with column[index] >= value, searched outwards from begin +
/// hint: neighbouring pixel columns hold about as many points.
std::size_t gallop(const CurveColumn& column, std::size_t begin, std::size_t hint, double value) {
    const std::size_t size = column.size();
    std::size_t low = begin, high = std::min(size, begin + hint);
    std::size_t stride = std::max<std::size_t>(1, hint / 8);
    if (high < size && column[high] < value) {
        while (high < size && column[high] < value) {
            low = high + 1;
            high = std::min(size, high + stride);
            stride *= 2;
        }
    } else {
        while (high > begin && high - begin > stride && column[high - stride] >= value) {
            high -= stride;
            stride *= 2;
        }
        low = high - begin > stride ? high - stride : begin;
    }
    return column.search(low, high, value);
}

bool isAxis(const std::vector<double>& values) {
    if (values.empty() || !std::isfinite(values.front()) || !std::isfinite(values.back())) {
        return values.empty();
    }
    bool isRising = true;
    for (std::size_t i = 1; i < values.size(); ++i) {
        isRising &= values[i] >= values[i - 1];  // NaN fails too
    }
    return isRising;
}

}  // namespace

void CurveStore::Block::take(double value) {
    if (!std::isfinite(value)) {
        return;
    }
    min = std::min(min, value);
    max = std::max(max, value);
    if (value > 0) {
        leastPositive = std::min(leastPositive, value);
    }
}

void CurveStore::Block::take(const Block& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    leastPositive = std::min(leastPositive, other.leastPositive);
}

CurveStore::CurveStore() : CurveStore(Options{}) {}

CurveStore::CurveStore(const Options& options) : options_(options) {
    options_.numPointsMax = std::max<std::size_t>(options_.numPointsMax, 64);
}

std::size_t CurveStore::append(std::span<const CurvePoint> points) {
    const std::size_t before = x_.size();
    const std::uint64_t refusedBefore = numRefused_;
    for (const CurvePoint& point : points) {
        push(point);
    }
    appended(before);
    return points.size() - static_cast<std::size_t>(numRefused_ - refusedBefore);
}

std::size_t CurveStore::append(const CurveColumns& columns) {
    const std::size_t before = x_.size();
    const std::uint64_t refusedBefore = numRefused_;
    const std::size_t size = std::min(columns.x.size(), columns.y.size());
    for (std::size_t i = 0; i < size; ++i) {
        push({columns.x[i], columns.y[i], i < columns.rows.size() ? columns.rows[i] : kNoValue,
              i < columns.timeMs.size() ? columns.timeMs[i] : kNoValue});
    }
    appended(before);
    return size - static_cast<std::size_t>(numRefused_ - refusedBefore);
}

std::size_t CurveStore::adopt(std::vector<double> x, std::vector<double> y,
                              std::vector<double> rows, std::vector<double> timeMs) {
    const auto fits = [&x](const std::vector<double>& column) {
        return column.empty() || (column.size() == x.size() && isAxis(column));
    };
    if (x.size() != y.size() || !isAxis(x) || !fits(rows) || !fits(timeMs)) {
        return replaceAll({x, y, rows, timeMs});
    }
    clear();
    x_.adopt(std::move(x));
    y_.adopt(std::move(y));
    rows_.adopt(std::move(rows));
    timeMs_.adopt(std::move(timeMs));
    const std::size_t taken = x_.size();
    appended(0);
    return taken;
}

void CurveStore::push(const CurvePoint& point) {
    if (!std::isfinite(point.x) || (!x_.empty() && point.x < x_.back())) {
        ++numRefused_;
        return;
    }
    pushOptional(rows_, point.rows);
    pushOptional(timeMs_, point.timeMs);
    x_.push(point.x);
    y_.push(point.y);
}

// A column exists from the first known value on. Earlier points get that value; later points
// without a value get that of the point before.
void CurveStore::pushOptional(CurveColumn& column, double value) {
    const bool isKnown = std::isfinite(value);
    if (column.empty()) {
        if (isKnown) {
            column.adopt(std::vector<double>(x_.size() + 1, value));
            rewrites_ += x_.empty() ? 0 : 1;
        }
        return;
    }
    column.push(isKnown ? std::max(value, column.back()) : column.back());
}

void CurveStore::appended(std::size_t before) {
    revision_ += x_.size() == before ? 0 : 1;
    while (x_.size() > options_.numPointsMax) {
        thin();
    }
}

void CurveStore::indexLevel(std::size_t level, std::size_t numBelow, std::size_t firstBlock) const {
    const std::size_t fan = level == 0 ? kFirstFan : kFan;
    std::vector<Block>& blocks = levels_[level];
    blocks.resize(divideUp(numBelow, fan));
    for (std::size_t b = firstBlock; b < blocks.size(); ++b) {
        Block block;
        const std::size_t end = std::min(numBelow, (b + 1) * fan);
        for (std::size_t i = b * fan; i < end; ++i) {
            if (level == 0) {
                block.take(y_[i]);
            } else {
                block.take(levels_[level - 1][i]);
            }
        }
        blocks[b] = block;
    }
}

// Extends pyramid and gaps to the last point.
void CurveStore::index() const {
    if (numIndexed_ == x_.size()) {
        return;
    }
    for (std::size_t i = numIndexed_; i < x_.size(); ++i) {
        if (!std::isfinite(y_[i])) {
            gaps_.push_back(i);
        }
    }
    std::size_t first = numIndexed_, numBelow = x_.size();
    for (std::size_t level = 0; numBelow > 1; ++level) {
        first /= level == 0 ? kFirstFan : kFan;
        if (level == levels_.size()) {
            levels_.emplace_back();
            first = 0;
        }
        indexLevel(level, numBelow, first);
        numBelow = levels_[level].size();
    }
    numIndexed_ = x_.size();
}

void CurveStore::forgetIndex() {
    levels_.clear();
    gaps_.clear();
    numIndexed_ = 0;
}

void CurveStore::cut(std::size_t size) {
    x_.cut(size);
    y_.cut(size);
    rows_.cut(rows_.empty() ? 0 : size);
    timeMs_.cut(timeMs_.empty() ? 0 : size);
    forgetIndex();
    ++revision_;
    ++rewrites_;
}

void CurveStore::dropAfter(double x) {
    const std::size_t end = x_.search(0, x_.size(), x, true);
    if (end < x_.size()) {
        cut(end);
    }
}

std::size_t CurveStore::replaceAll(const CurveColumns& columns) {
    clear();
    return append(columns);
}

void CurveStore::clear() {
    x_.clear();
    y_.clear();
    rows_.clear();
    timeMs_.clear();
    forgetIndex();
    ++revision_;
    ++rewrites_;
}

void CurveStore::move(std::size_t from, std::size_t to) {
    x_.set(to, x_[from]);
    y_.set(to, y_[from]);
    if (!rows_.empty()) {
        rows_.set(to, rows_[from]);
    }
    if (!timeMs_.empty()) {
        timeMs_.set(to, timeMs_[from]);
    }
}

// Keeps the smallest, the largest and the first gap of [begin, end), in order, from index `to` on.
std::size_t CurveStore::keepOfFour(std::size_t begin, std::size_t end, std::size_t to) {
    std::size_t least = end, greatest = end, gap = end;
    for (std::size_t i = begin; i < end; ++i) {
        if (!std::isfinite(y_[i])) {
            gap = gap == end ? i : gap;
            continue;
        }
        least = least == end || y_[i] < y_[least] ? i : least;
        greatest = greatest == end || y_[i] >= y_[greatest] ? i : greatest;
    }
    for (std::size_t i = begin; i < end; ++i) {
        if (i == least || i == greatest || i == gap) {
            move(i, to++);
        }
    }
    return to;
}

void CurveStore::thin() {
    const std::size_t size = x_.size(), half = size / 2 / kFan * kFan;
    std::size_t to = 0;
    for (std::size_t i = 0; i < half; i += kFan) {
        to = keepOfFour(i, i + kFan, to);
    }
    for (std::size_t i = half; i < size; ++i) {
        move(i, to++);
    }
    numThinned_ += size - to;
    cut(to);
}

const CurveColumn& CurveStore::column(CurveAxis axis) const {
    return axis == CurveAxis::kX ? x_ : axis == CurveAxis::kRows ? rows_ : timeMs_;
}

CurvePoint CurveStore::at(std::size_t i) const {
    return {x_[i], y_[i], rows_.empty() ? kNoValue : rows_[i],
            timeMs_.empty() ? kNoValue : timeMs_[i]};
}

std::size_t CurveStore::bytesUsed() const {
    std::size_t bytes = x_.bytesUsed() + y_.bytesUsed() + rows_.bytesUsed() + timeMs_.bytesUsed() +
                        gaps_.capacity() * sizeof(std::size_t);
    for (const std::vector<Block>& blocks : levels_) {
        bytes += blocks.capacity() * sizeof(Block);
    }
    return bytes;
}

CurveRange CurveStore::extent(CurveAxis axis) const {
    const CurveColumn& values = column(axis);
    return values.empty() ? CurveRange{} : CurveRange{values.front(), values.back()};
}

void CurveStore::takeBlocks(std::size_t level, std::size_t begin, std::size_t end,
                            Block& result) const {
    const std::vector<Block>& blocks = levels_[level];
    for (std::size_t b = begin; b < end; ++b) {
        result.take(blocks[b]);
    }
}

// Combines single points at both ends with blocks of rising levels between them.
CurveStore::Block CurveStore::blockOf(std::size_t begin, std::size_t end) const {
    Block result;
    std::size_t fan = kFirstFan;
    if (divideUp(begin, fan) >= end / fan) {
        for (std::size_t i = begin; i < end; ++i) {
            result.take(y_[i]);
        }
        return result;
    }
    for (; begin % fan != 0; ++begin) {
        result.take(y_[begin]);
    }
    for (; end % fan != 0; --end) {
        result.take(y_[end - 1]);
    }
    begin /= fan;
    end /= fan;
    for (std::size_t level = 0; begin < end; ++level) {
        fan = kFan;
        const std::size_t inner = divideUp(begin, fan), outer = end / fan;
        if (inner >= outer || level + 1 == levels_.size()) {
            takeBlocks(level, begin, end, result);
            break;
        }
        takeBlocks(level, begin, inner * fan, result);
        takeBlocks(level, outer * fan, end, result);
        begin = inner;
        end = outer;
    }
    return result;
}

std::size_t CurveStore::lowerBound(CurveAxis axis, double value) const {
    const CurveColumn& values = column(axis);
    return values.search(0, values.size(), value);
}

bool CurveStore::isAfterPause(std::size_t i, CurveAxis axis) const {
    const CurveColumn& times = column(axis);
    const double pause = i > 0 ? times[i] - times[i - 1] : 0;
    if (!(pause >= kPauseMs)) {
        return false;
    }
    const auto numLong = [&](std::size_t begin, std::size_t end) {
        std::size_t count = 0;
        for (std::size_t k = begin; k < end && count < kLongMax; ++k) {
            count += kUsualIntervals * (times[k] - times[k - 1]) >= pause ? 1 : 0;
        }
        return count;
    };
    const std::size_t begin = i > kIntervalsMax ? i - kIntervalsMax : 1;
    const std::size_t end = std::min(times.size(), i + 1 + kIntervalsMax);
    const bool isKnown = (i - begin) + (end - i - 1) >= kLongMax;
    return isKnown && numLong(begin, i) < kLongMax && numLong(i + 1, end) < kLongMax;
}

CurveStore::Block CurveStore::blockBetween(CurveAxis axis, double from, double to) const {
    const CurveColumn& values = column(axis);
    const std::size_t begin = lowerBound(axis, from);
    const std::size_t end = values.search(begin, values.size(), to, true);
    index();
    return begin < end ? blockOf(begin, end) : Block{};
}

CurveRange CurveStore::valueRange(CurveAxis axis, double from, double to) const {
    const Block block = blockBetween(axis, from, to);
    return {block.min, block.max};
}

std::optional<double> CurveStore::leastPositive(CurveAxis axis, double from, double to) const {
    const double least = blockBetween(axis, from, to).leastPositive;
    return std::isfinite(least) ? std::optional<double>(least) : std::nullopt;
}

void CurveStore::envelope(CurveAxis axis, double from, double width, std::span<CurveBin> bins,
                          std::int64_t firstBin) const {
    const CurveColumn& values = column(axis);
    index();
    std::size_t begin = lowerBound(axis, from + static_cast<double>(firstBin) * width);
    std::size_t hint = 1;
    for (std::size_t k = 0; k < bins.size(); ++k) {
        bins[k] = CurveBin{};
        if (begin >= values.size()) {
            continue;
        }
        const double edge =
            from + static_cast<double>(firstBin + static_cast<std::int64_t>(k) + 1) * width;
        const std::size_t end = gallop(values, begin, hint, edge);
        if (end > begin) {
            fillBin(begin, end, bins[k]);
            hint = end - begin;
        }
        begin = end;
    }
}

void CurveStore::fillBin(std::size_t begin, std::size_t end, CurveBin& bin) const {
    const Block block = blockOf(begin, end);
    bin.min = block.min;
    bin.max = block.max;
    bin.numPoints = static_cast<std::uint32_t>(end - begin);
    bin.first = y_[begin];
    bin.last = y_[end - 1];
    if (!gaps_.empty()) {
        fillGaps(begin, end, bin);
    }
}

void CurveStore::fillGaps(std::size_t begin, std::size_t end, CurveBin& bin) const {
    const auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), begin);
    bin.hasGap = gap != gaps_.end() && *gap < end;
    if (!bin.hasGap) {
        return;
    }
    bin.isGapFirst = !std::isfinite(bin.first);
    bin.isGapLast = !std::isfinite(bin.last);
    for (std::size_t i = begin; bin.isGapFirst && bin.hasValue(); ++i) {
        if (std::isfinite(y_[i])) {
            bin.first = y_[i];
            break;
        }
    }
    for (std::size_t i = end; bin.isGapLast && bin.hasValue(); --i) {
        if (std::isfinite(y_[i - 1])) {
            bin.last = y_[i - 1];
            break;
        }
    }
}

std::optional<CurvePoint> CurveStore::nearest(CurveAxis axis, double value) const {
    const CurveColumn& values = column(axis);
    if (values.empty() || std::isnan(value)) {
        return std::nullopt;
    }
    const std::size_t middle = values.search(0, values.size(), value, true);
    std::size_t below = middle, above = middle;
    while (below > 0 && std::isnan(y_[below - 1])) {
        --below;
    }
    while (above < values.size() && std::isnan(y_[above])) {
        ++above;
    }
    if (below == 0 && above == values.size()) {
        return std::nullopt;
    }
    while (above + 1 < values.size() && values[above + 1] == values[above] &&
           !std::isnan(y_[above + 1])) {
        ++above;
    }
    if (below == 0) {
        return at(above);
    }
    const bool isAboveNearer =
        above < values.size() && values[above] - value < value - values[below - 1];
    return at(isAboveNearer ? above : below - 1);
}

std::optional<CurvePoint> CurveStore::newest() const {
    for (std::size_t i = y_.size(); i > 0; --i) {
        if (!std::isnan(y_[i - 1])) {
            return at(i - 1);
        }
    }
    return std::nullopt;
}

}  // namespace millrace::gui
