#include "app/gui/widgets/shell/connection_bar.h"

#include <QApplication>
#include <QClipboard>
#include <QCompleter>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QStringListModel>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/gui/models/run_text.h"
#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kChipWidthMax = 260, kMarkSize = 9;

// Each state has a shape besides its tone, because colours alone do not reach everyone.
std::pair<Mark, Tone> linkLook(session::LinkState state) {
    switch (state) {
        case session::LinkState::kConnected:
            return {Mark::kDot, Tone::kGood};
        case session::LinkState::kReconnecting:
            return {Mark::kHalf, Tone::kWarn};
        case session::LinkState::kRefused:
            return {Mark::kCross, Tone::kBad};
        case session::LinkState::kConnecting:
            break;
    }
    return {Mark::kRing, Tone::kNeutral};
}

}  // namespace

DaemonChip::DaemonChip(QWidget* parent) : QAbstractButton(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setCheckable(false);
    setAttribute(Qt::WA_Hover);
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
}

void DaemonChip::present(const KnownDaemon& daemon, bool isCurrent, std::int64_t nowMs) {
    const QString name = shortName(daemon);
    const QString stale = isCurrent ? staleText(daemon, nowMs) : QString();
    // refresh() runs each second: an unchanged chip causes neither layout nor paint.
    const bool isSame = address_ == daemon.address && name_ == name && stale_ == stale &&
                        state_ == daemon.link.state && isProbed_ == daemon.isProbed &&
                        isCurrent_ == isCurrent;
    address_ = daemon.address;
    name_ = name;
    stale_ = stale;
    state_ = daemon.link.state;
    isProbed_ = daemon.isProbed;
    isOwn_ = daemon.isOwn;
    isCurrent_ = isCurrent;
    if (isSame) {
        return;
    }
    QString tip = QString::fromStdString(address_) + QLatin1String("\n") + stateWord(daemon);
    if (!daemon.version.empty()) {
        tip += tr(", version %1").arg(QString::fromStdString(daemon.version));
    }
    setToolTip(tip);
    setAccessibleName(tr("Daemon %1, %2").arg(name_, stateWord(daemon)));
    setAccessibleDescription(stale_);
    updateGeometry();
    update();
}

QSize DaemonChip::sizeHint() const {
    int width = 2 * kSpaceMedium + kMarkSize + kSpaceSmall + fontMetrics().horizontalAdvance(name_);
    if (!stale_.isEmpty()) {
        width += kSpaceSmall + badgeSize({stale_, Tone::kWarn}, font()).width();
    }
    return {std::min(width + 2, kChipWidthMax), std::max(28, fontMetrics().height() + 10)};
}

QSize DaemonChip::minimumSizeHint() const {
    // The badge must stay readable: reserve its width first.
    const int badge = stale_.isEmpty() ? 0 : badgeSize({stale_, Tone::kWarn}, font()).width();
    return {std::min(sizeHint().width(), 110 + badge), sizeHint().height()};
}

void DaemonChip::paintEvent(QPaintEvent*) {
    const ThemeColors& colors = colorsOf(palette());
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF frame = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    painter.setBrush(isCurrent_     ? colors.selection
                     : underMouse() ? colors.raised
                                    : QColor(Qt::transparent));
    painter.setPen(hasFocus()   ? QPen(colors.accent, 1.5)
                   : isCurrent_ ? QPen(colors.accent, 1)
                                : QPen(colors.border, 1));
    painter.drawRoundedRect(frame, kCornerRadius, kCornerRadius);
    QRect row = rect().adjusted(kSpaceMedium, 0, -kSpaceMedium, 0);
    const auto [mark, tone] = linkLook(isProbed_ ? state_ : session::LinkState::kConnecting);
    paintMark(painter, QRectF(row.left(), (height() - kMarkSize) / 2.0, kMarkSize, kMarkSize), mark,
              toneColor(tone, palette()));
    row.setLeft(row.left() + kMarkSize + kSpaceSmall);
    if (!stale_.isEmpty()) {
        const BadgeLook badge{stale_, Tone::kWarn};
        const int width = badgeSize(badge, font()).width();
        painter.setFont(font());
        paintBadge(painter, QRect(row.right() - width + 1, 0, width, height()), badge, palette());
        row.setRight(row.right() - width - kSpaceSmall);
    }
    painter.setPen(isCurrent_ ? colors.text : colors.dim);
    painter.drawText(row, Qt::AlignVCenter | Qt::AlignLeft,
                     fontMetrics().elidedText(name_, Qt::ElideMiddle, row.width() + 1));
}

void DaemonChip::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
        case Qt::Key_Left:
        case Qt::Key_Right:
            Q_EMIT leave(event->key() == Qt::Key_Left ? -1 : 1);
            return;
        case Qt::Key_Delete:
            if (!isOwn_) {
                Q_EMIT removeAsked();
            }
            return;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            click();
            return;
        default:
            QAbstractButton::keyPressEvent(event);
    }
}

void DaemonChip::contextMenuEvent(QContextMenuEvent* event) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(tr("Go to this daemon"), this, [this] { click(); });
    menu->addAction(tr("Copy its address"), this, [this] {
        QApplication::clipboard()->setText(QString::fromStdString(address_));
    });
    QAction* remove = menu->addAction(tr("Remove from the bar"), QKeySequence(Qt::Key_Delete), this,
                                      [this] { Q_EMIT removeAsked(); });
    remove->setEnabled(!isOwn_);
    menu->popup(event->globalPos());
}

ConnectionBar::ConnectionBar(KnownDaemons& daemons, std::function<std::int64_t()> now,
                             QWidget* parent)
    : QWidget(parent), daemons_(daemons), now_(std::move(now)) {
    auto* column = boxIn<QVBoxLayout>(this, 0);
    column->addWidget(makeRow());
    column->addWidget(makeAdder());
    column->addWidget(makeProblem());
    tick_ = new QTimer(this);
    tick_->setInterval(1000);
    connect(tick_, &QTimer::timeout, this, &ConnectionBar::refresh);
    connect(&daemons_, &KnownDaemons::changed, this, &ConnectionBar::refresh);
    connect(&daemons_, &KnownDaemons::hostsChanged, this, &ConnectionBar::offerHosts);
    tick_->start();
    refresh();
}

QWidget* ConnectionBar::makeRow() {
    auto* row = styled<QFrame>("bar", this);
    auto* all = boxIn<QHBoxLayout>(row, kSpaceSmall, {kSpaceMedium, 7, kSpaceSmall, 7});
    chipRow_ = boxIn<QHBoxLayout>(nullptr, 6);
    all->addLayout(chipRow_);
    QToolButton* add = iconButton(Glyph::kPlus, tr("Add a daemon"), row);
    connect(add, &QToolButton::clicked, this, &ConnectionBar::startAdding);
    all->addWidget(add);
    all->addStretch(1);
    auto* search = styled<QPushButton>("flat", icon(Glyph::kSearch),
                                       tr("Search commands   Ctrl+Shift+P"), row);
    search->setToolTip(tr("Every command, run, page and daemon"));
    connect(search, &QPushButton::clicked, this, &ConnectionBar::paletteAsked);
    all->addWidget(search);
    theme_ = iconButton(Glyph::kTheme, tr("Dark or light  Ctrl+Shift+T"), row);
    connect(theme_, &QToolButton::clicked, this, &ConnectionBar::themeAsked);
    all->addWidget(theme_);
    return row;
}

QWidget* ConnectionBar::makeAdder() {
    auto* row = new QFrame(this);
    adder_ = row;
    setLook(*row, "bar");
    auto* column = boxIn<QVBoxLayout>(row, kSpaceTiny, kSectionMargins);
    auto* line = boxIn<QHBoxLayout>(nullptr, kSpaceSmall);
    field_ = new QLineEdit(row);
    field_->setPlaceholderText(tr("ssh://host,   unix:/path/millraced.sock   or   host:7443"));
    field_->setAccessibleName(tr("Address of the daemon to add"));
    field_->setMaximumWidth(520);
    field_->installEventFilter(this);
    completer_ = new QCompleter(QStringList(), field_);
    completer_->setModel(new QStringListModel(completer_));
    completer_->setCaseSensitivity(Qt::CaseInsensitive);
    completer_->setFilterMode(Qt::MatchContains);
    field_->setCompleter(completer_);
    auto* add = styled<QPushButton>("primary", tr("Add and connect"), row);
    auto* cancel = styled<QPushButton>("flat", tr("Cancel"), row);
    line->addWidget(field_, 1);
    line->addWidget(add);
    line->addWidget(cancel);
    line->addStretch(1);
    fieldProblem_ = styled<QLabel>("error", row);
    column->addLayout(line);
    column->addWidget(fieldProblem_);
    connect(field_, &QLineEdit::textChanged, this, &ConnectionBar::checkField);
    connect(field_, &QLineEdit::returnPressed, this, &ConnectionBar::addFromField);
    connect(add, &QPushButton::clicked, this, &ConnectionBar::addFromField);
    connect(cancel, &QPushButton::clicked, this, &ConnectionBar::stopAdding);
    row->hide();
    return row;
}

QWidget* ConnectionBar::makeProblem() {
    problemRow_ = new QWidget(this);
    problemRow_->setAutoFillBackground(true);
    auto* row = boxIn<QHBoxLayout>(problemRow_, kSpaceSmall, {kSpaceLarge, 6, kSpaceSmall, 6});
    problem_ = new QLabel(problemRow_);
    problem_->setWordWrap(true);
    problem_->setTextFormat(Qt::PlainText);
    problem_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    copy_ = new QToolButton(problemRow_);
    copy_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    copy_->setIcon(icon(Glyph::kCopy));
    connect(copy_, &QToolButton::clicked, this, &ConnectionBar::copyCommand);
    auto* retry = new QPushButton(tr("Try now"), problemRow_);
    connect(retry, &QPushButton::clicked, this, &ConnectionBar::retryAsked);
    row->addWidget(problem_, 1);
    row->addWidget(copy_);
    row->addWidget(retry);
    problemRow_->hide();
    return problemRow_;
}

DaemonChip* ConnectionBar::makeChip() {
    auto* chip = new DaemonChip(this);
    chipRow_->addWidget(chip);
    connect(chip, &DaemonChip::clicked, this, [this, chip] {
        // A copy, here and below: the bar assigns chips to daemons again as soon as they change.
        const std::string address = chip->address();
        daemons_.setCurrent(address);
        Q_EMIT chosen(address);
    });
    connect(chip, &DaemonChip::removeAsked, this, [this, chip] {
        moveFocus(chip, -1);
        daemons_.remove(std::string(chip->address()));
    });
    connect(chip, &DaemonChip::leave, this,
            [this, chip](int direction) { moveFocus(chip, direction); });
    return chip;
}

void ConnectionBar::refresh() {
    const std::vector<KnownDaemon>& all = daemons_.all();
    while (chips_.size() > all.size()) {
        // The chip may be the sender of the signal that removed its daemon: it is deleted later.
        chips_.back()->hide();
        chips_.back()->deleteLater();
        chips_.pop_back();
    }
    while (chips_.size() < all.size()) {
        chips_.push_back(makeChip());
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        chips_[i]->present(all[i], all[i].address == daemons_.current(), now_());
    }
    refreshProblem();
}

void ConnectionBar::refreshProblem() {
    const KnownDaemon* daemon = daemons_.currentDaemon();
    const QString sentence = daemon == nullptr ? QString() : problemSentence(*daemon);
    if (!sentence.isEmpty()) {
        const bool isRefused = daemon->link.state == session::LinkState::kRefused;
        const Tone tone = isRefused ? Tone::kBad : Tone::kWarn;
        QPalette colors = palette();
        colors.setColor(QPalette::Window, toneBack(tone, palette()));
        // Each new palette would repaint the row, and refresh() runs each second.
        if (problemRow_->palette() != colors) {
            problemRow_->setPalette(colors);
        }
        const QString command = helpfulCommand(*daemon);
        copy_->setVisible(!command.isEmpty());
        copy_->setText(tr("Copy \u201c%1\u201d").arg(command));
        // The button's text has quotes around it.
        copy_->setProperty("command", command);
        problem_->setText(sentence);
    }
    problemRow_->setVisible(!sentence.isEmpty());
}

QString ConnectionBar::problem() const {
    return problemRow_->isHidden() ? QString() : problem_->text();
}

QString ConnectionBar::fieldProblem() const {
    return fieldProblem_->text();
}

void ConnectionBar::startAdding() {
    adder_->show();
    fieldProblem_->clear();
    field_->clear();
    field_->setFocus(Qt::OtherFocusReason);
    Q_EMIT addingStarted();
    offerHosts();
}

// Offers the hosts that the user has named, here or for ssh, unless they are in the bar.
void ConnectionBar::offerHosts() {
    QStringList offered;
    for (const QString& word : daemons_.suggestions()) {
        const Result<std::string> address = daemons_.check(word);
        if (address.ok() && daemons_.find(*address) == nullptr) {
            offered.append(word);
        }
    }
    auto* model = static_cast<QStringListModel*>(completer_->model());
    if (model->stringList() != offered) {
        model->setStringList(offered);
    }
    if (adder_->isVisible() && field_->text().isEmpty() && !offered.isEmpty()) {
        // Shows all hosts before the user has typed anything.
        completer_->setCompletionPrefix(QString());
        completer_->complete();
    }
}

void ConnectionBar::stopAdding() {
    adder_->hide();
    // The focus must not stay in a hidden field.
    if (!chips_.empty()) {
        chips_.front()->setFocus(Qt::OtherFocusReason);
    }
}

void ConnectionBar::checkField() {
    const Result<std::string> address = daemons_.check(field_->text());
    const bool isWrong = !address.ok() && !field_->text().trimmed().isEmpty();
    fieldProblem_->setText(isWrong ? qtext(messageOf(address.status())) : QString());
    setLook(*field_, isWrong ? "error" : "");
}

void ConnectionBar::addFromField() {
    const Result<std::string> address = daemons_.add(field_->text());
    if (!address.ok()) {
        fieldProblem_->setText(qtext(messageOf(address.status())));
        return;
    }
    stopAdding();
    daemons_.setCurrent(*address);
    Q_EMIT chosen(*address);
}

void ConnectionBar::moveFocus(const DaemonChip* from, int direction) {
    const auto at = std::ranges::find(chips_, from) - chips_.begin();
    const auto next = at + direction;
    if (next >= 0 && next < static_cast<std::ptrdiff_t>(chips_.size())) {
        chips_[static_cast<std::size_t>(next)]->setFocus(Qt::TabFocusReason);
    }
}

void ConnectionBar::copyCommand() {
    const QString command = copy_->property("command").toString();
    QApplication::clipboard()->setText(command);
    Q_EMIT said(tr("Copied \u201c%1\u201d. Run it in a terminal of that machine.").arg(command));
}

void ConnectionBar::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && problemRow_ != nullptr) {
        refreshProblem();
    }
}

bool ConnectionBar::eventFilter(QObject* watched, QEvent* event) {
    if (watched == field_ && event->type() == QEvent::KeyPress &&
        static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        stopAdding();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace millrace::gui
