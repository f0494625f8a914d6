#pragma once
// Groups for ranks that are threads of this process, one each.
#include <barrier>
#include <memory>
#include <string>
#include <vector>

#include "backend/train/ranks/group.h"

namespace millrace::train {

/// State that the threads share.
struct Rendezvous {
    explicit Rendezvous(int size) : told(static_cast<std::size_t>(size)), all(size) {}
    std::vector<std::string> told;
    std::barrier<> all;
};

class ThreadGroup final : public Group {
 public:
    ThreadGroup(std::shared_ptr<Rendezvous> rendezvous, int rank)
        : rendezvous_(std::move(rendezvous)), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(rendezvous_->told.size()); }

    Result<std::vector<std::string>> gather(std::string_view mine) override {
        return heard(mine, true);
    }
    Result<std::vector<std::string>> collect(std::string_view mine) override {
        return heard(mine, rank_ == 0);
    }
    Result<std::string> ofFirst(std::string_view mine) override {
        std::vector<std::string> all = heard(mine, true);
        return std::move(all.front());
    }
    Status sum(std::span<float> values) override { return added(values); }
    Status sum(std::span<double> values) override { return added(values); }

 private:
    std::vector<std::string> heard(std::string_view mine, bool isTold) {
        rendezvous_->told[static_cast<std::size_t>(rank_)] = mine;
        rendezvous_->all.arrive_and_wait();
        std::vector<std::string> out = isTold ? rendezvous_->told : std::vector<std::string>();
        rendezvous_->all.arrive_and_wait();
        return out;
    }
    template <class T>
    Status added(std::span<T> values) {
        ASSIGN_OR_RETURN(const std::vector<std::string> told,
                         gather(bytesOfValues(std::span<const T>(values))));
        for (std::size_t r = 0; r < told.size(); ++r) {
            const T* other = reinterpret_cast<const T*>(told[r].data());
            for (std::size_t i = 0; i < values.size(); ++i) {
                values[i] = r == 0 ? other[i] : values[i] + other[i];
            }
        }
        return okStatus();
    }
    const std::shared_ptr<Rendezvous> rendezvous_;
    const int rank_;
};

inline std::vector<std::unique_ptr<Group>> makeThreadGroups(int size) {
    const auto rendezvous = std::make_shared<Rendezvous>(size);
    std::vector<std::unique_ptr<Group>> out;
    for (int rank = 0; rank < size; ++rank) {
        out.push_back(std::make_unique<ThreadGroup>(rendezvous, rank));
    }
    return out;
}

}  // namespace millrace::train
