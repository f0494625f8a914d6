#include "backend/segment/batch_meter.h"

#include <algorithm>
#include <bit>

namespace millrace::segment {

void BatchMix::add(const BatchMix& other) {
    if (other.batches == 0) {
        return;
    }
    fewestRequests =
        batches == 0 ? other.fewestRequests : std::min(fewestRequests, other.fewestRequests);
    batches += other.batches;
    rows += other.rows;
    requests += other.requests;
    userRows += other.userRows;
    mostUserShare = std::max(mostUserShare, other.mostUserShare);
}

BatchMeter::Count BatchMeter::count(std::span<const std::uint64_t> keys) {
    if (slots_.size() < 2 * keys.size()) {
        slots_.assign(std::bit_ceil(2 * keys.size()), {});
        turn_ = 0;
    }
    if (++turn_ == 0) {
        std::ranges::fill(slots_, Slot{});
        turn_ = 1;
    }
    Count count;
    const std::size_t mask = slots_.size() - 1;
    Slot* last = nullptr;  // rows of one request are often adjacent
    for (const std::uint64_t key : keys) {
        if (last == nullptr || last->key != key) {
            std::size_t at = (key ^ (key >> 32)) & mask;
            while (slots_[at].turn == turn_ && slots_[at].key != key) {
                at = (at + 1) & mask;
            }
            last = &slots_[at];
            if (last->turn != turn_) {
                *last = {key, turn_, 0};
                ++count.different;
            }
        }
        ++last->rows;
        count.most = std::max<std::int64_t>(count.most, last->rows);
    }
    return count;
}

BatchMix BatchMeter::mixOf(std::span<const std::uint64_t> requests,
                           std::span<const std::uint64_t> users) {
    BatchMix mix;
    const std::size_t rows = std::max(requests.size(), users.size());
    if (rows == 0) {
        return mix;
    }
    mix.batches = 1;
    mix.rows = static_cast<std::int64_t>(rows);
    if (!requests.empty()) {
        mix.requests = mix.fewestRequests = count(requests).different;
    }
    if (!users.empty()) {
        mix.userRows = count(users).most;
        mix.mostUserShare = static_cast<double>(mix.userRows) / static_cast<double>(rows);
    }
    return mix;
}

}  // namespace millrace::segment
