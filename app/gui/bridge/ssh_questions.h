#pragma once
// What SSH connections ask, on its way to the window, and the answers on their way back.
//
// Only the host that somebody has gone to is asked about: questions of others are given up, and put
// when somebody goes there. Threads: ask() returns a function for any thread, which blocks it until
// the answer; everything else is for the GUI thread. Owns: the questions that wait; the destructor
// gives them up. Failure: none.
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
    /// The address that somebody has gone to.
    void setAsked(const std::string& address);
    /// The oldest that waits.
    std::optional<SshQuestion> first() const;
    void answer(std::uint64_t id, const QString& text);
    void giveUp(std::uint64_t id);

 Q_SIGNALS:
    /// Another one is the first, or none is.
    void changed();

 private:
    class State;
    const std::shared_ptr<State> state_;
};

}  // namespace millrace::gui
