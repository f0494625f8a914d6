#include "backend/train/torch/ordered_sums.h"

#include <numeric>

#include <ATen/ATen.h>
#include <c10/util/ScopeExit.h>

namespace millrace::train {

OrderedSums::Groups OrderedSums::groupsOf(const at::Tensor& index) {
    if (isOnHost_) {
        return groupsOnHost(index);
    }
    const auto [sorted, members] = index.sort(true, 0, false);
    const auto [rows, unused, counts] = at::unique_consecutive(sorted, false, true);
    return {rows, at::constant_pad_nd(counts.cumsum(0), {1, 0}), members};
}

// A counting sort. Rows are in the order of their first member.
OrderedSums::Groups OrderedSums::groupsOnHost(const at::Tensor& index) {
    const std::int64_t count = index.numel();
    const auto* const at = index.const_data_ptr<std::int64_t>();
    at::Tensor rows = at::empty({count}, at::kLong), members = at::empty({count}, at::kLong);
    auto* const named = rows.data_ptr<std::int64_t>();
    std::vector<std::int32_t> slotOf(static_cast<std::size_t>(count));
    std::vector<std::int64_t> next;
    next.reserve(slotOf.size() + 1);
    for (std::int64_t i = 0; i < count; ++i) {
        std::int32_t& slot = slots_[static_cast<std::size_t>(at[i])];
        if (slot < 0) {
            slot = static_cast<std::int32_t>(next.size());
            named[slot] = at[i];
            next.push_back(0);
        }
        slotOf[static_cast<std::size_t>(i)] = slot;
        ++next[static_cast<std::size_t>(slot)];
    }
    const auto distinct = static_cast<std::int64_t>(next.size());
    for (std::int64_t i = 0; i < distinct; ++i) {
        slots_[static_cast<std::size_t>(named[i])] = -1;
    }
    at::Tensor starts = at::empty({distinct + 1}, at::kLong);
    auto* const from = starts.data_ptr<std::int64_t>();
    from[0] = 0;
    std::inclusive_scan(next.begin(), next.end(), from + 1);
    std::copy(from, from + distinct, next.begin());
    auto* const order = members.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) {
        order[next[static_cast<std::size_t>(slotOf[static_cast<std::size_t>(i)])]++] = i;
    }
    rows.resize_({distinct});
    return {rows, starts, members};
}

at::Tensor OrderedSums::bagSums(const at::Tensor& values, const at::Tensor& members,
                                const at::Tensor& starts, const at::Tensor& weights) {
    constexpr std::int64_t kSum = 0;
    return std::get<0>(at::_embedding_bag_forward_only(
        values, members, starts, false, kSum, false,
        weights.defined() ? std::optional<at::Tensor>(weights) : std::nullopt, true));
}

void OrderedSums::put(const at::Tensor& to, const at::Tensor& rows, const at::Tensor& values) {
    // Each row is written once, so the deterministic kernel, which is slower, is not needed.
    at::Context& context = at::globalContext();
    const bool was = context.deterministicAlgorithms();
    context.setDeterministicAlgorithms(false, false);
    const auto restore =
        c10::make_scope_exit([&context, was] { context.setDeterministicAlgorithms(was, false); });
    to.index_copy_(0, rows, values);
}

}  // namespace millrace::train
