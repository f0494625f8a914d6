#pragma once
// Asks what an SSH connection wants to know: whether a host's key is the right one, a passphrase, a
// code. One question at a time, over the window, without stopping it.
//
// Keyboard: Return answers, Escape gives up. Threads: the GUI thread. What was typed is cleared
// when it has been said.
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
    /// Opens with it; another one takes the place of the one before.
    void present(const SshQuestion& question);
    /// Nothing is asked any more.
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
