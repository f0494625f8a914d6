#pragma once
// Side tables shared by several recipes, such as a stream's and its evaluation's. Each is loaded
// once, by all threads, one after another, and kept while any of these recipes exists.
//
// Threads: any; while one makes a table the others wait. Owns: no table. Failure: that of `make`;
// nothing is kept then.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backend/core/mutex.h"
#include "backend/core/status.h"

namespace millrace::recipe {

/// Bytes of tables by object: a shared one counts once.
using TableSizes = std::map<const void*, std::int64_t>;

class SharedTables {
 public:
    /// `threads`: number that make a table.
    explicit SharedTables(int threads = 1) : threads_(threads) {}
    int threads() const { return threads_; }

    template <class T>
    using Make = std::function<Result<std::shared_ptr<const T>>()>;

    /// Returns the live table for `key`, else the result of `make`. A key covers everything that
    /// its table depends on, and belongs to one type. `make` must not request another table.
    template <class T>
    Result<std::shared_ptr<const T>> get(const std::string& key, const Make<T>& make) {
        MutexLock lock(mutex_);
        std::weak_ptr<const void>& known = tables_[key];
        if (auto table = std::static_pointer_cast<const T>(known.lock())) {
            return table;
        }
        ASSIGN_OR_RETURN(std::shared_ptr<const T> table, make());
        known = table;
        return table;
    }

 private:
    const int threads_;
    Mutex mutex_;
    std::map<std::string, std::weak_ptr<const void>> tables_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::recipe
