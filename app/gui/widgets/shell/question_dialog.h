#pragma once
// QuestionDialog: asks the questions of SSH connections: whether a host's key is right, a
// passphrase, a code. One question at a time, over the window, without blocking it.
//
// Keyboard: Return answers, Escape gives up. Threads: the GUI thread. Typed text is cleared after
// the answer.
#include <QDialog>

#include "app/gui/models/ssh_question.h"

class QLabel;
class QLineEdit;
class QPushButton;

namespace millrace::gui {

class QuestionDialog final : public QDialog {
    Q_OBJECT

 public:
    explicit QuestionDialog(QWidget* parent);
    /// Opens with the question, which replaces the previous one.
    void present(const SshQuestion& question);
    /// Closes: no question is open any more.
    void withdraw();
    const SshQuestion& question() const { return question_; }
    QLineEdit* field() const { return field_; }
    QPushButton* yes() const { return yes_; }

 Q_SIGNALS:
    void answered(std::uint64_t id, const QString& text);
    void givenUp(std::uint64_t id);

 private:
    void say();
    void leave();

    SshQuestion question_;
    QLabel *title_ = nullptr, *text_ = nullptr, *hint_ = nullptr;
    QLineEdit* field_ = nullptr;
    QPushButton *yes_ = nullptr, *no_ = nullptr;
};

}  // namespace millrace::gui
