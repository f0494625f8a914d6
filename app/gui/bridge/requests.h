#pragma once
// Requests: the GUI thread's open requests: their callers, and whether they still want the answer.
//
// Threads: the GUI thread; the work itself runs on the pool's threads. `done` is kept, called and
// destroyed on the GUI thread. Answers that arrive close together share one event. Failure: none; a
// request that the pool rejects is answered by `refused`.
#include <QObject>
#include <QPointer>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/bridge/request_pool.h"
#include "backend/core/mutex.h"

namespace millrace::gui {

class Requests final : public QObject {
    Q_OBJECT

 public:
    using Answer = RequestPool::Answer;
    struct Order {
        QPointer<QObject> context;
        std::string slot;        ///< "": never superseded by another request
        bool isSlow = false;     ///< may take longer than a moment
        bool isOfDaemon = true;  ///< void when another daemon is connected
        std::function<Answer()> work;
        std::function<void(Answer)> done;
        std::function<Answer()> refused;
    };

    Requests();
    ~Requests() override;

    void add(Order order);
    bool isEmpty() const { return waiting_.empty(); }
    /// Drops the answers of the daemon that is being left.
    void dropDaemon();
    /// Joins the threads; make running requests end first.
    void stop() { pool_.stop(); }

 private:
    struct Waiting {
        Order order;
        const QObject* context = nullptr;  // kept after its destruction
    };
    using Slot = std::pair<const QObject*, std::string>;
    void watchContext(QObject* context);
    void drop(std::uint64_t id);
    /// Removes the request; nothing if it is not open any more.
    std::optional<Waiting> take(std::uint64_t id);
    template <class Wanted>
    void dropIf(Wanted isWanted);
    std::uint64_t laneOf(const Slot& slot);
    void answered(std::uint64_t id, Answer answer) MR_EXCLUDES(mutex_);
    void deliver() MR_EXCLUDES(mutex_);

    std::uint64_t lastId_ = 0, lastLane_ = 0;
    std::map<std::uint64_t, Waiting> waiting_;
    std::map<Slot, std::uint64_t> newest_;  // per slot: id of the newest request
    std::map<Slot, std::uint64_t> lanes_;
    std::set<const QObject*> contexts_;
    Mutex mutex_;
    std::vector<std::pair<std::uint64_t, Answer>> answers_ MR_GUARDED_BY(mutex_);
    RequestPool pool_;  // last: its threads end before the members they use
};

}  // namespace millrace::gui
