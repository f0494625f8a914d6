#include "app/gui/pages/launch/launch_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSettings>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/models/details/run_cli.h"
#include "app/gui/models/details/run_repeat.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/widgets/notice_stack.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

LaunchBar::LaunchBar(QWidget* parent)
    : QFrame(parent),
      project_(nullptr),
      tags_(nullptr),
      note_(nullptr),
      summary_(new ElidedLabel(this, Qt::ElideRight)),
      copy_(new QPushButton(tr("Copy as CLI"), this)),
      launch_(new QPushButton(tr("Launch"), this)) {
    setLook(*this, "bar");
    // Notices are placed above the widget with this name.
    setObjectName(QLatin1String(NoticeStack::kFoot));
    auto* rows = boxIn<QVBoxLayout>(this, kSpaceSmall, kSectionMargins);
    rows->addWidget(buildUpper());
    auto* row = boxIn<QHBoxLayout>(nullptr, kSpaceSmall);
    rows->addLayout(row);
    project_ = field(*row, tr("Project"), tr("as in the spec"), 120);
    tags_ = field(*row, tr("Tags"), tr("key=value, \u2026"), 140);
    note_ = field(*row, tr("Note"), tr("why these runs"), 200);
    summary_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    row->addWidget(summary_, 2);
    setLook(*copy_, "flat");
    copy_->setToolTip(tr("Copies the command that launches the same"));
    setLook(*launch_, "primary");
    launch_->setToolTip(tr("Launches what is ticked (Ctrl+Return)"));
    row->addWidget(copy_);
    row->addWidget(launch_);
    connect(tags_, &QLineEdit::textChanged, this, [this] { checkTags(); });
    connect(copy_, &QPushButton::clicked, this, &LaunchBar::copyWanted);
    connect(launch_, &QPushButton::clicked, this, &LaunchBar::launchWanted);
}

QWidget* LaunchBar::buildUpper() {
    upper_ = new QWidget(this);
    auto* row = boxIn<QHBoxLayout>(upper_, kSpaceSmall);
    sets_ = field(*row, tr("Set"), tr("key=value 'key=a value'"), 800);
    sets_->setToolTip(tr("Set over the spec and its variations for this launch, as --set"));
    origin_ = new ElidedLabel(upper_, Qt::ElideRight);
    row->addWidget(origin_, 2);
    upper_->hide();
    connect(sets_, &QLineEdit::textChanged, this, [this] {
        // Nothing is emitted while a quote is open: half a value is not a value.
        const bool isWhole = sets().has_value();
        setLook(*sets_, isWhole ? "" : "error");
        if (isWhole) {
            Q_EMIT setsChanged();
        }
    });
    return upper_;
}

QLineEdit* LaunchBar::field(QHBoxLayout& row, const QString& label, const QString& placeholder,
                            int width) {
    auto* text = styled<QLabel>("dim", label, this);
    auto* made = new QLineEdit(this);
    made->setPlaceholderText(placeholder);
    made->setAccessibleName(label);
    made->setMinimumWidth(72);
    made->setMaximumWidth(width * 2);
    text->setBuddy(made);
    row.addWidget(text);
    row.addWidget(made, width > 150 ? 2 : 1);
    return made;
}

std::map<std::string, std::string> LaunchBar::tags(QString* problem) const {
    std::map<std::string, std::string> tags;
    const auto parts = splitQuoted(tags_->text(), u',');
    if (!parts && problem != nullptr) {
        *problem = tr("The tags have a quote that is not closed.");
    }
    for (const std::string& text : parts.value_or(std::vector<std::string>())) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0) {
            if (problem != nullptr) {
                *problem = tr("The tag '%1' is not key=value.").arg(QString::fromStdString(text));
            }
            continue;
        }
        // "team = t0" means no blanks; a value that was quoted for its blanks has none before "=".
        const QString key = QString::fromStdString(text.substr(0, equals));
        const QString value = QString::fromStdString(text.substr(equals + 1));
        const bool isSpaced = key != key.trimmed();
        tags[key.trimmed().toStdString()] = (isSpaced ? value.trimmed() : value).toStdString();
    }
    return tags;
}

std::optional<std::vector<std::string>> LaunchBar::sets() const {
    return splitQuoted(sets_->text(), u' ');
}

void LaunchBar::showSets(const std::vector<std::string>& sets) {
    // Never replaces what the user is typing; equal lists may be written differently.
    if (!sets_->hasFocus() && this->sets() != sets) {
        sets_->setText(quotedList(sets, u' '));
        sets_->setCursorPosition(0);
    }
    if (!sets.empty()) {
        upper_->show();
    }
}

void LaunchBar::editSets() {
    upper_->show();
    sets_->setFocus(Qt::OtherFocusReason);
}

void LaunchBar::fillFrom(const values::RunSummary& run) {
    // Remembered, so that dropFilled() removes these and leaves alone what the user changed.
    filled_ = {qtext(run.project), tagsText(run.tags)};
    setFields(filled_.first, filled_.second, {});
}

void LaunchBar::dropFilled() {
    const auto kept = [](const QString& text, const QString& filled) {
        return text == filled ? QString() : text;
    };
    setFields(kept(project_->text(), filled_.first), kept(tags_->text(), filled_.second),
              note_->text());
    filled_ = {};
}

void LaunchBar::save(QSettings& settings) const {
    // Settings of a run that is being repeated are not the user's own: the next start would apply
    // them.
    const bool isOwn = filled_ == std::pair<QString, QString>();
    settings.setValue(QStringLiteral("project"), isOwn ? project() : QString());
    settings.setValue(QStringLiteral("tags"), isOwn ? tagText() : QString());
}

void LaunchBar::restore(QSettings& settings) {
    setFields(settings.value(QStringLiteral("project")).toString(),
              settings.value(QStringLiteral("tags")).toString(), {});
}

// Compares a launch of the run's own variation with the run.
void LaunchBar::showOrigin(const SpecDocument& document, bool hasErrors) {
    if (document.origin() == nullptr) {
        showOrigin(Tone::kNeutral, {});
        return;
    }
    const values::RunDetail& run = *document.origin();
    if (!document.isChecked() || hasErrors) {
        showOrigin(Tone::kNeutral, tr("from %1").arg(qtext(run.summary.id)));
        return;
    }
    const RepeatVerdict verdict = verdictOn(run, document.checkReply());
    const QString name = run.summary.variation.empty() ? tr("base") : qtext(run.summary.variation);
    showOrigin(verdict.kind == RepeatVerdict::Kind::kEqual ? Tone::kGood : Tone::kWarn,
               name + QStringLiteral(": ") + verdict.sentence);
}

void LaunchBar::showOrigin(Tone tone, const QString& sentence) {
    origin_->setFullText(sentence);
    QPalette colors = palette();
    colors.setColor(QPalette::WindowText, toneColor(tone, colors));
    origin_->setPalette(colors);
    if (!sentence.isEmpty()) {
        upper_->show();
    } else if (sets() == std::vector<std::string>() && !sets_->hasFocus()) {
        upper_->hide();
    }
}

void LaunchBar::checkTags() {
    QString problem;
    tags(&problem);
    setLook(*tags_, problem.isEmpty() ? "" : "error");
    tags_->setToolTip(problem);
}

void LaunchBar::setFields(const QString& project, const QString& tags, const QString& note) {
    project_->setText(project);
    tags_->setText(tags);
    note_->setText(note);
}

void LaunchBar::showSummary(const QString& summary, bool canLaunch) {
    summary_->setFullText(summary);
    canLaunch_ = canLaunch;
    launch_->setEnabled(canLaunch_ && !isLaunching_);
    copy_->setEnabled(canLaunch_);
}

void LaunchBar::showLaunching(bool isLaunching) {
    isLaunching_ = isLaunching;
    launch_->setText(isLaunching ? tr("Launching\u2026") : tr("Launch"));
    launch_->setEnabled(canLaunch_ && !isLaunching_);
}

int numBlocking(const std::vector<values::SpecError>& errors, const QStringList& ticked) {
    return static_cast<int>(std::ranges::count_if(errors, [&](const auto& error) {
        const QString message = QString::fromStdString(error.message);
        // The reader writes the variation only into the message; an error without one concerns all
        // runs.
        const bool isOfOne = message.startsWith(QStringLiteral("variation '"));
        return !isOfOne || std::ranges::any_of(ticked, [&](const QString& name) {
            return message.startsWith(QStringLiteral("variation '%1': ").arg(name));
        });
    }));
}

QString launchSummary(const QStringList& variations, bool hasBase) {
    QStringList names = variations;
    if (hasBase) {
        names.prepend(LaunchBar::tr("base"));
    }
    if (names.isEmpty()) {
        return LaunchBar::tr("Tick what to launch");
    }
    const QString all = names.join(QStringLiteral(", "));
    return names.size() == 1 ? LaunchBar::tr("1 run: %1").arg(all)
                             : LaunchBar::tr("%1 runs: %2").arg(QString::number(names.size()), all);
}

QString tagsText(const std::map<std::string, std::string>& tags) {
    std::vector<std::string> words;
    for (const auto& [key, value] : tags) {
        words.push_back(key + '=' + value);
    }
    return quotedList(words, u',');
}

QString launchCommand(const QString& path, const QStringList& variations, bool hasBase, bool areAll,
                      const LaunchBar& bar) {
    QString rest;
    if (!bar.project().isEmpty()) {
        rest += QStringLiteral(" --project ") + shellQuoted(bar.project());
    }
    for (const auto& [key, value] : bar.tags()) {
        rest += QStringLiteral(" --tag ") +
                shellQuoted(QString::fromStdString(key) + u'=' + QString::fromStdString(value));
    }
    for (const std::string& set : bar.sets().value_or(std::vector<std::string>())) {
        rest += QStringLiteral(" --set ") + shellQuoted(QString::fromStdString(set));
    }
    if (!bar.note().isEmpty()) {
        rest += QStringLiteral(" --note ") + shellQuoted(bar.note());
    }
    const QString run = QStringLiteral("millrace run ") + shellQuoted(path);
    // `--variation` leaves the base out, so base and some variations need two commands.
    if (hasBase && areAll && !variations.isEmpty()) {
        return run + QStringLiteral(" --all-variations") + rest;
    }
    QString command = hasBase ? run + rest : QString();
    QString some = run;
    for (const QString& variation : variations) {
        some += QStringLiteral(" --variation ") + shellQuoted(variation);
    }
    if (!variations.isEmpty()) {
        command += (hasBase ? QStringLiteral(" && ") : QString()) + some + rest;
    }
    return command;
}

}  // namespace millrace::gui
