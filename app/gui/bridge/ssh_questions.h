#pragma once
// SshQuestions: carries the questions of SSH connections to the window, and the answers back.
//
// Asks only questions of the host that the user has selected: those of others are given up, and
// asked when the user selects that host. Threads: ask() returns a function for any thread, which
// blocks it until the answer; everything else is for the GUI thread. Owns: the waiting questions;
// the destructor gives them up. Failure: none.
#include <QObject>
#include <memory>
#include <optional>
#include <string>

#include "app/gui/models/ssh_question.h"
#include "app/ssh/questions.h"

namespace millrace::gui {

class SshQuestions final : public QObject {
    Q_OBJECT

 public:
    SshQuestions();
    ~SshQuestions() override;

    ssh::Ask ask() const;
    /// The address that the user has selected.
    void setAsked(const std::string& address);
    /// The oldest waiting question.
    std::optional<SshQuestion> first() const;
    void answer(std::uint64_t id, const QString& text);
    void giveUp(std::uint64_t id);

 Q_SIGNALS:
    /// first() has changed.
    void changed();

 private:
    class State;
    const std::shared_ptr<State> state_;
};

}  // namespace millrace::gui
