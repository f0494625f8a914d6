#pragma once
// SpecChecker: runs the spec reader off the GUI thread; the newest text wins.
//
// Threads: the GUI thread outside; one thread inside, joined in the destructor. Failure: none;
// mistakes in the spec are values.
#include <QObject>
#include <memory>

#include "app/gui/models/spec/spec_local_check.h"
#include "backend/values/inspection.h"

namespace millrace::gui {

class SpecChecker final : public QObject {
    Q_OBJECT

 public:
    explicit SpecChecker(QObject* parent = nullptr);
    ~SpecChecker() override;

    /// Emits checked(), unless a newer text arrives first.
    void check(values::SpecSource spec, int revision);
    bool isBusy() const { return numPending_ > 0; }

 Q_SIGNALS:
    void checked(int revision, const millrace::gui::LocalCheck& check);

 private:
    class Worker;
    std::unique_ptr<Worker> worker_;
    int newest_ = -1, numPending_ = 0;
};

}  // namespace millrace::gui
