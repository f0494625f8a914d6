#include "app/gui/bridge/requests.h"

namespace millrace::gui {

Requests::Requests()
    : pool_([this](std::uint64_t id, Answer answer) { answered(id, std::move(answer)); }) {}

Requests::~Requests() = default;

std::uint64_t Requests::laneOf(const Slot& slot) {
    if (slot.second.empty()) {
        return 0;
    }
    const auto [lane, isNew] = lanes_.try_emplace(slot, lastLane_ + 1);
    lastLane_ += isNew ? 1 : 0;
    return lane->second;
}

void Requests::add(Order order) {
    const std::uint64_t id = ++lastId_;
    const Slot slot(order.context.data(), order.slot);
    if (!order.slot.empty()) {
        const auto before = newest_.find(slot);
        if (before != newest_.end()) {
            drop(before->second);
        }
        newest_[slot] = id;
    }
    watchContext(order.context);
    RequestPool::Request request{id, laneOf(slot), order.isSlow, std::move(order.work)};
    const auto refused = order.refused;
    waiting_.emplace(id, Waiting{std::move(order), slot.first});
    if (!pool_.add(std::move(request))) {
        answered(id, refused());
    }
}

void Requests::watchContext(QObject* context) {
    if (!contexts_.insert(context).second) {
        return;
    }
    connect(context, &QObject::destroyed, this, [this, context] {
        contexts_.erase(context);
        dropIf([context](const Waiting& one) { return one.context == context; });
        std::erase_if(lanes_, [context](const auto& lane) { return lane.first.first == context; });
    });
}

void Requests::drop(std::uint64_t id) {
    pool_.drop(id);
    take(id);
}

std::optional<Requests::Waiting> Requests::take(std::uint64_t id) {
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) {
        return std::nullopt;
    }
    Waiting gone = std::move(found->second);
    waiting_.erase(found);
    const auto newest = newest_.find({gone.context, gone.order.slot});
    if (newest != newest_.end() && newest->second == id) {
        newest_.erase(newest);
    }
    return gone;
}

template <class Wanted>
void Requests::dropIf(Wanted isWanted) {
    std::vector<std::uint64_t> ids;
    for (const auto& [id, one] : waiting_) {
        if (isWanted(one)) {
            ids.push_back(id);
        }
    }
    for (const std::uint64_t id : ids) {
        drop(id);
    }
}

void Requests::dropDaemon() {
    dropIf([](const Waiting& one) { return one.order.isOfDaemon; });
}

void Requests::answered(std::uint64_t id, Answer answer) {
    bool isFirst = false;
    {
        MutexLock lock(mutex_);
        isFirst = answers_.empty();
        answers_.emplace_back(id, std::move(answer));
    }
    if (isFirst) {
        QMetaObject::invokeMethod(this, &Requests::deliver, Qt::QueuedConnection);
    }
}

void Requests::deliver() {
    std::vector<std::pair<std::uint64_t, Answer>> answers;
    {
        MutexLock lock(mutex_);
        answers.swap(answers_);
    }
    const QPointer<Requests> self(this);
    for (auto& [id, answer] : answers) {
        const std::optional<Waiting> one = take(id);
        if (one && one->order.context != nullptr) {
            one->order.done(std::move(answer));
        }
        if (self == nullptr) {
            return;  // the callback has destroyed this object
        }
    }
}

}  // namespace millrace::gui
