#pragma once
// Collective calls between the ranks of a run.
//
// All ranks make the same calls in the same order; a call returns when all have made it. Results
// are the same bits in every rank. Sums are made in rank order, so that they do not depend on
// arrival order. Threads: one owner. Failure: kUnavailable names the rank that is gone; no later
// call succeeds.
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
    /// Returns every rank's bytes, by rank. Sizes may differ.
    virtual Result<std::vector<std::string>> gather(std::string_view mine) = 0;
    /// As gather(), but for rank 0 alone; the others get nothing.
    virtual Result<std::vector<std::string>> collect(std::string_view mine) = 0;
    /// Broadcasts rank 0's bytes; `mine` of the others is ignored.
    virtual Result<std::string> ofFirst(std::string_view mine) = 0;
    /// Sums over ranks, element by element; all ranks pass the same number of values.
    virtual Status sum(std::span<float> values) = 0;
    virtual Status sum(std::span<double> values) = 0;
};

/// A group of one rank.
std::unique_ptr<Group> makeLoneGroup();

struct SocketGroupOptions {
    std::string path;  ///< of a unix socket in a directory that only this user can access
    int rank = 0, size = 1;
    int abortFd = -1;  ///< when readable: the rendezvous ends with kCancelled; -1: nothing ends it
};
/// Connects ranks that are processes of one machine, or that reach one socket through a tunnel.
/// Rank 0 listens and the others connect, for up to a minute; all messages go through rank 0.
/// kDeadlineExceeded if a rank does not connect.
Result<std::unique_ptr<Group>> makeSocketGroup(const SocketGroupOptions& options);

/// The bytes of `values`, for gather().
template <class T>
std::string_view bytesOfValues(std::span<const T> values) {
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace millrace::train
