#pragma once
// The ranks of a run, as far as they compute together: what one says, all hear.
//
// All ranks make the same calls in the same order; a call returns when all have made it. Results
// are the same bits in every rank, and sums are made in the ranks' order, so that they do not
// depend on who was first. Threads: one owner. Failure: kUnavailable naming the rank that is gone;
// nothing can be asked any more then.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace::train {

class Group {
 public:
    virtual ~Group() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    /// What each rank gives, by rank. Sizes may differ.
    virtual Result<std::vector<std::string>> gather(std::string_view mine) = 0;
    /// As gather(), for rank 0 alone; the others get nothing.
    virtual Result<std::vector<std::string>> collect(std::string_view mine) = 0;
    /// What rank 0 gives; `mine` of the others does not count.
    virtual Result<std::string> ofFirst(std::string_view mine) = 0;
    /// The sum over ranks, place by place; all give as many.
    virtual Status sum(std::span<float> values) = 0;
    virtual Status sum(std::span<double> values) = 0;
};

/// Of one rank.
std::unique_ptr<Group> makeLoneGroup();

/// Ranks that are threads of this process, each with one of these; for tests.
std::vector<std::unique_ptr<Group>> makeThreadGroups(int size);

struct SocketGroupOptions {
    std::string path;  ///< of a unix socket in a directory of this user alone
    int rank = 0, size = 1;
    int abortFd = -1;  ///< readable: the meeting ends with kCancelled; -1: nothing ends it
};
/// Ranks that are processes of one machine, or see one socket through a tunnel. Rank 0 listens, the
/// others come, for up to a minute; all that is said goes over rank 0. kDeadlineExceeded when
/// somebody does not come.
Result<std::unique_ptr<Group>> makeSocketGroup(const SocketGroupOptions& options);

/// The bytes of `values`, for gather().
template <class T>
std::string_view bytesOfValues(std::span<const T> values) {
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace millrace::train
