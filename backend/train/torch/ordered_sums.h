#pragma once
// Everything in training whose result could depend on the order in which a GPU's threads add or
// write: sums of rows by an index, and writes to rows. No other file of this room may call an
// operator of that kind (tests/laws, tests/unit/train/determinism_test.cpp).
//
// A sum is an embedding bag over members that are grouped beforehand: each bag adds its members in
// their order, so each run gives the same bits. Threads: one owner. What LibTorch throws passes
// through.
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::train {

class OrderedSums {
 public:
    /// For indices below `rows`. `isOnHost`: groups members by loops, which is faster on a CPU;
    /// otherwise by a stable sort.
    explicit OrderedSums(std::int64_t rows = 0, bool isOnHost = false)
        : slots_(static_cast<std::size_t>(isOnHost ? rows : 0), -1), isOnHost_(isOnHost) {}

    bool isOnHost() const { return isOnHost_; }

    /// The members of an index, grouped by the row that they name.
    struct Groups {
        at::Tensor rows;     ///< the named rows, distinct
        at::Tensor starts;   ///< start of each row's members in `members`, and their number
        at::Tensor members;  ///< positions in the index, ascending within a row
    };
    Groups groupsOf(const at::Tensor& index);

    /// Sums of the rows `members` of `values`, a sum per bag; bag i is [starts[i], starts[i + 1]).
    /// `weights`: factors of the members; undefined: 1.
    static at::Tensor bagSums(const at::Tensor& values, const at::Tensor& members,
                              const at::Tensor& starts, const at::Tensor& weights);

    /// Writes `values` to the rows `rows` of `to`, which are distinct.
    static void put(const at::Tensor& to, const at::Tensor& rows, const at::Tensor& values);

 private:
    Groups groupsOnHost(const at::Tensor& index);

    std::vector<std::int32_t> slots_;  ///< -1 between calls
    bool isOnHost_;
};

}  // namespace millrace::train
