#include "app/gui/pages/launch/spec_bar.h"

#include <QCompleter>
#include <QDir>
#include <QFileInfo>
#include <QFileSystemModel>
#include <QHBoxLayout>
#include <QMenu>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

QCompleter* pathCompleter(QObject* parent, bool onlyDirectories) {
    auto* completer = new QCompleter(parent);
    auto* files = new QFileSystemModel(completer);
    files->setRootPath(QDir::rootPath());
    files->setFilter(QDir::AllDirs | QDir::NoDotAndDotDot |
                     (onlyDirectories ? QDir::Filters() : QDir::Filters(QDir::Files)));
    if (!onlyDirectories) {
        files->setNameFilters({QStringLiteral("*.yaml"), QStringLiteral("*.yml")});
        files->setNameFilterDisables(false);
    }
    completer->setModel(files);
    completer->setMaxVisibleItems(12);
    return completer;
}

}  // namespace

SpecBar::SpecBar(QWidget* parent)
    : QFrame(parent),
      path_(new QLineEdit(this)),
      base_(new QLineEdit(this)),
      state_(new QLabel(this)),
      recent_(nullptr),
      save_(nullptr),
      disk_(new QFrame(this)),
      menu_(new QMenu(this)) {
    setLook(*this, "bar");
    auto* rows = boxIn<QVBoxLayout>(this, kSpaceTiny, kSectionMargins);
    auto* row = boxIn<QHBoxLayout>(nullptr, kSpaceSmall);
    rows->addLayout(row);
    buildPath();
    buildBase();
    recent_ = button(tr("Recent"), tr("Specs that were open"));
    recent_->setMenu(menu_);
    recent_->setPopupMode(QToolButton::InstantPopup);
    auto* open = button(tr("Open\u2026"), tr("Chooses a file (Ctrl+O)"));
    auto* make = button(tr("New"), tr("A spec from the template (Ctrl+N)"));
    save_ = button(tr("Save"), tr("Writes the file (Ctrl+S)"));
    row->addWidget(path_, 3);
    row->addWidget(state_);
    for (QToolButton* one : {open, recent_, make, save_}) {
        row->addWidget(one);
    }
    auto* label = styled<QLabel>("dim", tr("Base directory"), this);
    label->setBuddy(base_);
    row->addSpacing(kSpaceSmall);
    row->addWidget(label);
    row->addWidget(base_, 2);
    buildDisk();
    rows->addWidget(disk_);
    connect(open, &QToolButton::clicked, this, &SpecBar::chooseWanted);
    connect(make, &QToolButton::clicked, this, &SpecBar::newWanted);
    connect(save_, &QToolButton::clicked, this, &SpecBar::saveWanted);
}

QToolButton* SpecBar::button(const QString& text, const QString& tip) {
    auto* made = styled<QToolButton>("flat", this);
    made->setText(text);
    made->setToolTip(tip);
    return made;
}

void SpecBar::buildPath() {
    path_->setPlaceholderText(tr("Path of a spec; Return opens it"));
    path_->setAccessibleName(tr("Path of the spec"));
    path_->setCompleter(pathCompleter(path_, false));
    path_->setMinimumWidth(160);
    setLook(*state_, "caption");
    connect(path_, &QLineEdit::returnPressed, this, [this] {
        QString path = path_->text().trimmed();
        if (path.startsWith(QStringLiteral("~/"))) {
            path = QDir::homePath() + path.mid(1);
        }
        if (!path.isEmpty() && !QFileInfo(path).isDir()) {
            Q_EMIT openWanted(path);
        }
    });
}

void SpecBar::buildBase() {
    base_->setPlaceholderText(tr("Relative paths start here"));
    base_->setAccessibleName(tr("Base directory of relative paths"));
    base_->setCompleter(pathCompleter(base_, true));
    base_->setMinimumWidth(120);
    connect(base_, &QLineEdit::editingFinished, this, [this] {
        QString path = base_->text().trimmed();
        if (path.startsWith(u'~')) {
            path = QDir::homePath() + path.mid(1);
        }
        Q_EMIT baseDirGiven(path.isEmpty() ? QString() : QDir::cleanPath(path));
    });
}

void SpecBar::buildDisk() {
    auto* layout = boxIn<QHBoxLayout>(disk_);
    auto* text = new QLabel(tr("The file was changed on the disk by somebody else."), disk_);
    auto* reload = new QPushButton(tr("Reload"), disk_);
    auto* keep = styled<QPushButton>("flat", tr("Keep mine"), disk_);
    layout->addWidget(text);
    layout->addWidget(reload);
    layout->addWidget(keep);
    layout->addStretch(1);
    connect(reload, &QPushButton::clicked, this, &SpecBar::reloadWanted);
    connect(keep, &QPushButton::clicked, this, &SpecBar::keepWanted);
    disk_->hide();
}

void SpecBar::showDocument(const QString& path, const QString& baseDir, bool isModified) {
    if (!path_->hasFocus() || path_->text().isEmpty() || !path_->isModified()) {
        path_->setText(path);
    }
    if (!base_->hasFocus()) {
        base_->setText(baseDir);
        base_->setToolTip(baseDir);
    }
    path_->setToolTip(path);
    state_->setText(isModified       ? tr("\u25cf modified")
                    : path.isEmpty() ? tr("not saved")
                                     : QString());
    save_->setEnabled(isModified || path.isEmpty());
}

void SpecBar::showRecent(const QStringList& paths, const QStringList& drafts) {
    menu_->clear();
    for (int i = 0; i < drafts.size(); ++i) {
        menu_->addAction(tr("%1 (not saved)").arg(drafts[i]), this,
                         [this, i] { Q_EMIT draftWanted(i); });
    }
    if (!drafts.isEmpty() && !paths.isEmpty()) {
        menu_->addSeparator();
    }
    for (const QString& path : paths) {
        menu_->addAction(path, this, [this, path] { Q_EMIT openWanted(path); });
    }
    if (menu_->isEmpty()) {
        menu_->addAction(tr("No spec was open yet"))->setEnabled(false);
    }
}

void SpecBar::focusPath() {
    path_->setFocus();
    path_->selectAll();
}

}  // namespace millrace::gui
