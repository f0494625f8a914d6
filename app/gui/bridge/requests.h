#pragma once
// The requests of the GUI thread that have no answer yet: who asked, and whether he still wants it.
//
// Threads: the GUI thread; the work itself runs on the pool's threads. `done` is kept, called and
// destroyed on the GUI thread. Answers that come close together share one event. Failure: none;
// what the pool refuses is answered by `refused`.
#include <QObject>
#include <QPointer>
#include <functional>
#include <map>
#include <memory>
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
        std::string slot;        ///< "": every request stands for itself
        bool isSlow = false;     ///< may take longer than a moment
        bool isOfDaemon = true;  ///< void when another daemon is connected to
        std::function<Answer()> work;
        std::function<void(Answer)> done;
        std::function<Answer()> refused;
    };

    Requests();
    ~Requests() override;

    void add(Order order);
    bool isEmpty() const { return waiting_.empty(); }
    /// Answers of the daemon that is left are not delivered.
    void dropDaemon();
    /// Joins the threads; make what is under way end first.
    void stop() { pool_.stop(); }

 private:
    struct Waiting {
        Order order;
        const QObject* context = nullptr;  // also after its death
    };
    using Slot = std::pair<const QObject*, std::string>;
    void watchContext(QObject* context);
    void drop(std::uint64_t id);
    template <class Wanted>
    void dropIf(Wanted isWanted);
    std::uint64_t laneOf(const Slot& slot);
    void answered(std::uint64_t id, Answer answer) MR_EXCLUDES(mutex_);
    void deliver() MR_EXCLUDES(mutex_);
    void deliverOne(std::uint64_t id, Answer answer);

    std::uint64_t lastId_ = 0, lastLane_ = 0;
    std::map<std::uint64_t, Waiting> waiting_;
    std::map<Slot, std::uint64_t> newest_;  // of the slots: id of the newest request
    std::map<Slot, std::uint64_t> lanes_;
    std::set<const QObject*> contexts_;
    Mutex mutex_;
    std::vector<std::pair<std::uint64_t, Answer>> answers_ MR_GUARDED_BY(mutex_);
    RequestPool pool_;  // last: its threads end before what they use
};

}  // namespace millrace::gui
