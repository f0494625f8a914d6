#include "app/gui/widgets/shell/question_dialog.h"

#include <QFontDatabase>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kWidth = 560;

QString titleOf(const SshQuestion& question) {
    switch (question.kind) {
        case SshQuestion::Kind::kHostKey:
            return QObject::tr("Is this %1?").arg(question.host);
        case SshQuestion::Kind::kNotice:
            return QObject::tr("%1 waits for you").arg(question.host);
        case SshQuestion::Kind::kSecret:
        case SshQuestion::Kind::kCode:
        case SshQuestion::Kind::kConfirm:
            break;
    }
    return QObject::tr("%1 asks").arg(question.host);
}

// For a host's key, drops ssh's own last question, which the buttons replace.
QString textOf(const SshQuestion& question) {
    QStringList lines = question.text.split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    if (question.kind == SshQuestion::Kind::kHostKey && lines.size() > 1) {
        lines.removeLast();
    }
    return lines.join(QLatin1Char('\n')).trimmed();
}

QString hintOf(SshQuestion::Kind kind) {
    switch (kind) {
        case SshQuestion::Kind::kHostKey:
            return QObject::tr(
                "Compare the fingerprint with what the host's administrator gave you. A "
                "key "
                "that is trusted is kept in your known_hosts file.");
        case SshQuestion::Kind::kSecret:
            return QObject::tr("It goes to ssh alone, and is kept nowhere.");
        case SshQuestion::Kind::kCode:
        case SshQuestion::Kind::kConfirm:
        case SshQuestion::Kind::kNotice:
            break;
    }
    return {};
}

}  // namespace

QuestionDialog::QuestionDialog(QWidget* parent) : QDialog(parent) {
    setWindowModality(Qt::WindowModal);
    setMinimumWidth(kWidth);
    auto* column = boxIn<QVBoxLayout>(this, kSpaceMedium,
                                      {kSpaceLarge, kSpaceLarge, kSpaceLarge, kSpaceLarge});
    title_ = styled<QLabel>("title", this);
    text_ = new QLabel(this);
    text_->setWordWrap(true);
    text_->setTextFormat(Qt::PlainText);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    field_ = new QLineEdit(this);
    hint_ = styled<QLabel>("caption", this);
    hint_->setWordWrap(true);
    for (QWidget* widget : {static_cast<QWidget*>(title_), static_cast<QWidget*>(text_),
                            static_cast<QWidget*>(field_), static_cast<QWidget*>(hint_)}) {
        column->addWidget(widget);
    }
    const DialogButtons buttons = addButtons(*this);
    yes_ = buttons.yes;
    no_ = buttons.no;
    connect(yes_, &QPushButton::clicked, this, &QuestionDialog::say);
    connect(no_, &QPushButton::clicked, this, &QuestionDialog::leave);
    connect(this, &QDialog::rejected, this, [this] {
        if (question_.id != 0) {
            Q_EMIT givenUp(std::exchange(question_.id, 0));
        }
    });
}

void QuestionDialog::present(const SshQuestion& question) {
    if (question == question_) {
        return;
    }
    question_ = question;
    const bool isKey = question.kind == SshQuestion::Kind::kHostKey;
    const bool isYesNo = isKey || question.kind == SshQuestion::Kind::kConfirm;
    const bool isNotice = question.kind == SshQuestion::Kind::kNotice;
    setWindowTitle(titleOf(question));
    title_->setText(titleOf(question));
    text_->setText(textOf(question));
    text_->setFont(isKey ? QFontDatabase::systemFont(QFontDatabase::FixedFont) : font());
    hint_->setText(hintOf(question.kind));
    hint_->setVisible(!hint_->text().isEmpty());
    field_->clear();
    field_->setVisible(!isYesNo && !isNotice);
    field_->setEchoMode(question.kind == SshQuestion::Kind::kSecret ? QLineEdit::Password
                                                                    : QLineEdit::Normal);
    field_->setAccessibleName(text_->text());
    yes_->setText(isKey ? tr("Trust and connect") : isYesNo ? tr("Yes") : tr("Answer"));
    yes_->setVisible(!isNotice);
    // A stray Return must not trust a key.
    yes_->setDefault(!isKey);
    yes_->setAutoDefault(!isKey);
    no_->setText(isKey ? tr("Do not trust") : tr("Cancel"));
    open();
    if (field_->isVisibleTo(this)) {
        field_->setFocus(Qt::OtherFocusReason);
    } else {
        no_->setFocus(Qt::OtherFocusReason);
    }
}

void QuestionDialog::withdraw() {
    question_ = {};
    field_->clear();
    hide();
}

void QuestionDialog::say() {
    const bool isTyped = field_->isVisibleTo(this);
    const QString text = isTyped ? field_->text() : QStringLiteral("yes");
    field_->clear();
    const std::uint64_t id = std::exchange(question_.id, 0);
    hide();
    Q_EMIT answered(id, text);
}

// An untrusted key is answered with "no", which ssh then reports; all other questions are given up.
void QuestionDialog::leave() {
    if (question_.kind != SshQuestion::Kind::kHostKey) {
        reject();
        return;
    }
    const std::uint64_t id = std::exchange(question_.id, 0);
    hide();
    Q_EMIT answered(id, QStringLiteral("no"));
}

}  // namespace millrace::gui
