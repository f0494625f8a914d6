#include "app/gui/pages/launch/launch_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "app/gui/models/details/run_cli.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

LaunchBar::LaunchBar(QWidget* parent)
    : QFrame(parent),
      layout_(nullptr),
      project_(nullptr),
      tags_(nullptr),
      note_(nullptr),
      summary_(new ElidedLabel(this, Qt::ElideRight)),
      copy_(new QPushButton(tr("Copy as CLI"), this)),
      launch_(new QPushButton(tr("Launch"), this)) {
    setLook(*this, "bar");
    layout_ = new QHBoxLayout(this);
    layout_->setContentsMargins(kSpaceMedium, kSpaceSmall, kSpaceMedium, kSpaceSmall);
    layout_->setSpacing(kSpaceSmall);
    project_ = field(tr("Project"), tr("as in the spec"), 120);
    tags_ = field(tr("Tags"), tr("key=value, \u2026"), 140);
    note_ = field(tr("Note"), tr("why these runs"), 200);
    summary_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    layout_->addWidget(summary_, 2);
    setLook(*copy_, "flat");
    copy_->setToolTip(tr("Copies the command that launches the same"));
    setLook(*launch_, "primary");
    launch_->setToolTip(tr("Launches what is ticked (Ctrl+Return)"));
    layout_->addWidget(copy_);
    layout_->addWidget(launch_);
    connect(tags_, &QLineEdit::textChanged, this, [this] { checkTags(); });
    connect(copy_, &QPushButton::clicked, this, &LaunchBar::copyWanted);
    connect(launch_, &QPushButton::clicked, this, &LaunchBar::launchWanted);
}

QLineEdit* LaunchBar::field(const QString& label, const QString& placeholder, int width) {
    auto* text = new QLabel(label, this);
    setLook(*text, "dim");
    auto* made = new QLineEdit(this);
    made->setPlaceholderText(placeholder);
    made->setAccessibleName(label);
    made->setMinimumWidth(72);
    made->setMaximumWidth(width * 2);
    text->setBuddy(made);
    layout_->addWidget(text);
    layout_->addWidget(made, width > 150 ? 2 : 1);
    return made;
}

std::map<std::string, std::string> LaunchBar::tags(QString* problem) const {
    std::map<std::string, std::string> tags;
    for (const QString& part : tags_->text().split(u',', Qt::SkipEmptyParts)) {
        const QString text = part.trimmed();
        const auto equals = text.indexOf(u'=');
        if (equals < 1) {
            if (problem != nullptr && !text.isEmpty()) {
                *problem = tr("The tag '%1' is not key=value.").arg(text);
            }
            continue;
        }
        tags[text.left(equals).trimmed().toStdString()] =
            text.mid(equals + 1).trimmed().toStdString();
    }
    return tags;
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
    if (!bar.note().isEmpty()) {
        rest += QStringLiteral(" --note ") + shellQuoted(bar.note());
    }
    const QString run = QStringLiteral("millrace run ") + shellQuoted(path);
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
