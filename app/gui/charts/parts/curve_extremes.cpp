#include "app/gui/charts/parts/curve_extremes.h"

#include <algorithm>
#include <cmath>

namespace millrace::gui {
namespace {

void addExtremes(const CurveStore& store, std::size_t begin, std::size_t end,
                 std::vector<std::size_t>& indices) {
    std::size_t least = end, greatest = end, gap = end;
    for (std::size_t i = begin; i < end; ++i) {
        const double y = store.value(i);
        if (!std::isfinite(y)) {
            gap = gap == end ? i : gap;
            continue;
        }
        least = least == end || y < store.value(least) ? i : least;
        greatest = greatest == end || y >= store.value(greatest) ? i : greatest;
    }
    std::size_t kept[] = {least, greatest, gap};
    std::sort(std::begin(kept), std::end(kept));
    for (const std::size_t i : kept) {
        if (i < end && (indices.empty() || indices.back() < i)) {
            indices.push_back(i);
        }
    }
}

}  // namespace

std::vector<std::size_t> extremeIndices(const CurveStore& store, CurveAxis axis, double from,
                                        double to, std::size_t numColumns) {
    std::vector<std::size_t> indices;
    if (!store.has(axis)) {
        return indices;
    }
    std::size_t begin = store.lowerBound(axis, from);
    const std::size_t end =
        store.lowerBound(axis, std::nextafter(to, std::numeric_limits<double>::infinity()));
    if (begin >= end) {
        return indices;
    }
    if (end - begin <= 2 * numColumns) {
        for (std::size_t i = begin; i < end; ++i) {
            indices.push_back(i);
        }
        return indices;
    }
    const double width = (to - from) / static_cast<double>(numColumns);
    for (std::size_t k = 1; k <= numColumns && begin < end; ++k) {
        const double border = from + static_cast<double>(k) * width;
        const std::size_t next =
            k == numColumns ? end : std::min(end, store.lowerBound(axis, border));
        addExtremes(store, begin, next, indices);
        begin = std::max(begin, next);
    }
    if (indices.empty() || indices.back() != end - 1) {
        indices.push_back(end - 1);
    }
    return indices;
}

}  // namespace millrace::gui
