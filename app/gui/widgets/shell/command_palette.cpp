#include "app/gui/widgets/shell/command_palette.h"

#include <QApplication>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollArea>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kRowHeight = 32, kMostRows = 11, kShadow = 14;

// Title with the matched letters in bold, detail and group dim, the keys on the right.
class EntryDelegate final : public QStyledItemDelegate {
 public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override {
        return {100, std::max(kRowHeight, option.fontMetrics.height() + 12)};
    }
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const ThemeColors& colors = colorsOf(option.palette);
        painter->save();
        if (option.state & QStyle::State_Selected) {
            painter->setRenderHint(QPainter::Antialiasing);
            painter->setPen(Qt::NoPen);
            painter->setBrush(colors.selection);
            painter->drawRoundedRect(option.rect.adjusted(4, 1, -4, -1), 5, 5);
        }
        QRect row = option.rect.adjusted(kSpaceLarge, 0, -kSpaceLarge, 0);
        painter->setPen(colors.dim);
        for (const QString& text : {index.data(PaletteModel::kKeyText).toString(),
                                    index.data(PaletteModel::kGroup).toString()}) {
            row.setRight(paintRight(*painter, row, text, option.font));
        }
        paintTitle(*painter, row, option, index);
        painter->restore();
    }

 private:
    static int paintRight(QPainter& painter, const QRect& row, const QString& text,
                          const QFont& font) {
        if (text.isEmpty()) {
            return row.right();
        }
        painter.setFont(captionFont(font));
        const int width = painter.fontMetrics().horizontalAdvance(text);
        painter.drawText(row, Qt::AlignRight | Qt::AlignVCenter, text);
        return row.right() - width - kSpaceLarge;
    }

    static void paintTitle(QPainter& painter, const QRect& row, const QStyleOptionViewItem& option,
                           const QModelIndex& index) {
        const ThemeColors& colors = colorsOf(option.palette);
        const bool isEnabled = index.flags() & Qt::ItemIsEnabled;
        const QString title = option.fontMetrics.elidedText(index.data().toString(), Qt::ElideRight,
                                                            std::max(40, row.width()));
        const QVariantList places = index.data(PaletteModel::kPlaces).toList();
        int x = row.left(), next = 0;
        for (int i = 0; i < title.size(); ++i) {
            const bool isFound = next < places.size() && places[next].toInt() == i;
            next += isFound ? 1 : 0;
            QFont font = option.font;
            font.setBold(isFound);
            painter.setFont(font);
            painter.setPen(!isEnabled ? colors.faint : isFound ? colors.accent : colors.text);
            painter.drawText(QRect(x, row.top(), row.right() - x, row.height()),
                             Qt::AlignLeft | Qt::AlignVCenter, title.mid(i, 1));
            x += painter.fontMetrics().horizontalAdvance(title[i]);
        }
        const QString detail = index.data(PaletteModel::kDetail).toString();
        if (!detail.isEmpty() && row.right() - x > 60) {
            painter.setFont(option.font);
            painter.setPen(colors.dim);
            const QRect rest(x + kSpaceMedium, row.top(), row.right() - x - kSpaceMedium,
                             row.height());
            painter.drawText(
                rest, Qt::AlignLeft | Qt::AlignVCenter,
                painter.fontMetrics().elidedText(detail, Qt::ElideMiddle, rest.width()));
        }
    }
};

}  // namespace

Overlay::Overlay(QWidget* window) : QFrame(window) {
    setFocusPolicy(Qt::StrongFocus);
    hide();
    window->installEventFilter(this);
}

void Overlay::open(QWidget* focusInside) {
    if (!isVisible()) {
        focusBefore_ = QApplication::focusWidget();
        qApp->installEventFilter(this);
    }
    setGeometry(placeIn(parentWidget()->size()));
    show();
    raise();
    (focusInside != nullptr ? focusInside : this)->setFocus(Qt::PopupFocusReason);
}

void Overlay::dismiss() {
    if (!isVisible()) {
        return;
    }
    qApp->removeEventFilter(this);
    hide();
    if (focusBefore_ != nullptr && focusBefore_->isVisible()) {
        focusBefore_->setFocus(Qt::PopupFocusReason);
    }
}

bool Overlay::eventFilter(QObject* watched, QEvent* event) {
    if (watched == parentWidget() && event->type() == QEvent::Resize && isVisible()) {
        setGeometry(placeIn(parentWidget()->size()));
    }
    if (event->type() == QEvent::MouseButtonPress && isVisible()) {
        auto* widget = qobject_cast<QWidget*>(watched);
        if (widget != nullptr && widget->window() == window() && widget != this &&
            !isAncestorOf(widget)) {
            dismiss();
        }
    }
    return QFrame::eventFilter(watched, event);
}

void Overlay::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) {
        dismiss();
        return;
    }
    QFrame::keyPressEvent(event);
}

void Overlay::paintEvent(QPaintEvent*) {
    const ThemeColors& colors = colorsOf(palette());
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    for (int ring = 0; ring < kShadow; ring += 2) {
        painter.setBrush(QColor(0, 0, 0, colors.isDark ? 16 : 7));
        const int inset = ring;
        painter.drawRoundedRect(rect().adjusted(inset, inset, -inset, -inset),
                                kShadow + kCornerRadius - ring, kShadow + kCornerRadius - ring);
    }
    painter.setPen(QPen(colors.strongBorder, 1));
    painter.setBrush(colors.raised);
    painter.drawRoundedRect(
        QRectF(rect()).adjusted(kShadow + 0.5, kShadow + 0.5, -kShadow - 0.5, -kShadow - 0.5),
        kCornerRadius + 2, kCornerRadius + 2);
}

CommandPalette::CommandPalette(QWidget* window) : Overlay(window) {
    build();
    connect(field_, &QLineEdit::textChanged, this, &CommandPalette::search);
    connect(list_, &QListView::clicked, this, [this](const QModelIndex& index) {
        list_->setCurrentIndex(index);
        runCurrent();
    });
    field_->installEventFilter(this);
}

void CommandPalette::build() {
    setAccessibleName(tr("Command palette"));
    auto* column = new QVBoxLayout(this);
    const int edge = kShadow + kSpaceSmall;
    column->setContentsMargins(edge, edge, edge, edge);
    column->setSpacing(kSpaceSmall);
    field_ = new SearchField(tr("Type a command, a run, a page or a daemon"), this);
    field_->setAccessibleName(tr("Search commands"));
    list_ = new QListView(this);
    list_->setModel(&model_);
    list_->setItemDelegate(new EntryDelegate(list_));
    list_->setFocusPolicy(Qt::NoFocus);
    setLook(*list_, "bare");
    list_->viewport()->setAutoFillBackground(false);
    list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    list_->setUniformItemSizes(true);
    hint_ = styled<QLabel>("caption", this);
    column->addWidget(field_);
    column->addWidget(list_, 1);
    column->addWidget(hint_);
}

void CommandPalette::openWith(std::vector<PaletteEntry> entries, const QString& query) {
    model_.setEntries(std::move(entries));
    field_->setText(query);
    search(query);
    open(field_);
    field_->selectAll();
}

void CommandPalette::search(const QString& query) {
    model_.setQuery(query);
    list_->setCurrentIndex(model_.index(0, 0));
    hint_->setText(model_.rowCount() == 0
                       ? tr("Nothing is called \u201c%1\u201d. Try a shorter word.").arg(query)
                       : tr("\u2191 \u2193 to choose \u00b7 Enter to do it \u00b7 Esc to close"));
    setGeometry(placeIn(parentWidget()->size()));
}

void CommandPalette::moveBy(int rows) {
    const int count = model_.rowCount();
    if (count == 0) {
        return;
    }
    int row = list_->currentIndex().row() + rows;
    row = std::abs(rows) == 1 ? (row + count) % count : std::clamp(row, 0, count - 1);
    list_->setCurrentIndex(model_.index(row, 0));
}

void CommandPalette::runCurrent() {
    const int row = list_->currentIndex().row();
    const PaletteEntry* entry = model_.entry(row);
    if (entry == nullptr || !entry->isEnabled || !entry->run) {
        return;
    }
    // The command may open this palette again, or change the entries.
    const std::function<void()> run = entry->run;
    model_.remember(row);
    dismiss();
    run();
}

// The palette is only as tall as its results, so that it covers little of the page.
QRect CommandPalette::placeIn(const QSize& window) const {
    const int row = list_->sizeHintForRow(0) > 0 ? list_->sizeHintForRow(0) : kRowHeight;
    const int rows = std::clamp(model_.rowCount(), 1, kMostRows);
    const int frame = field_->sizeHint().height() + hint_->sizeHint().height() +
                      2 * (kShadow + kSpaceSmall) + 2 * kSpaceSmall + 2;
    const int width = std::min(640 + 2 * kShadow, window.width() - 2 * kSpaceSmall);
    const int height = std::min(frame + rows * row, window.height() - 60);
    return {(window.width() - width) / 2, std::min(56, window.height() / 10), width, height};
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (watched != field_ || event->type() != QEvent::KeyPress) {
        return Overlay::eventFilter(watched, event);
    }
    switch (static_cast<QKeyEvent*>(event)->key()) {
        case Qt::Key_Down:
            moveBy(1);
            return true;
        case Qt::Key_Up:
            moveBy(-1);
            return true;
        case Qt::Key_PageDown:
            moveBy(8);
            return true;
        case Qt::Key_PageUp:
            moveBy(-8);
            return true;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            runCurrent();
            return true;
        case Qt::Key_Escape:
            dismiss();
            return true;
        case Qt::Key_Tab:
            return true;
        default:
            return false;
    }
}

ShortcutSheet::ShortcutSheet(QWidget* window) : Overlay(window) {
    setAccessibleName(tr("Shortcuts"));
    auto* column = new QVBoxLayout(this);
    const int edge = kShadow + kSpaceLarge;
    column->setContentsMargins(edge, edge, edge, edge);
}

void ShortcutSheet::openWith(const std::vector<ShortcutGroup>& groups) {
    groups_ = groups;
    fill();
    open(this);
}

void ShortcutSheet::fill() {
    delete page_;
    page_ = new QWidget(this);
    auto* column = boxIn<QVBoxLayout>(page_, kSpaceMedium);
    auto* title = styled<QLabel>("title", tr("Shortcuts"), page_);
    column->addWidget(title);
    auto* sides = boxIn<QHBoxLayout>(nullptr, kSpaceHuge);
    std::size_t numLines = 0, numPlaced = 0;
    for (const ShortcutGroup& group : groups_) {
        numLines += group.lines.size() + 2;
    }
    QVBoxLayout* sideColumns[] = {new QVBoxLayout, new QVBoxLayout};
    for (const ShortcutGroup& group : groups_) {
        // A group goes to the column that contains its middle.
        const std::size_t size = group.lines.size() + 2;
        addGroup(*sideColumns[numPlaced + size / 2 > numLines / 2 ? 1 : 0], group);
        numPlaced += size;
    }
    for (QVBoxLayout* side : sideColumns) {
        side->setSpacing(kSpaceMedium);
        side->addStretch(1);
        sides->addLayout(side, 1);
    }
    column->addLayout(sides, 1);
    auto* foot = styled<QLabel>(
        "caption", tr("Esc closes this sheet. Ctrl+Shift+P finds every command."), page_);
    column->addWidget(foot);
    layout()->addWidget(page_);
}

void ShortcutSheet::addGroup(QVBoxLayout& column, const ShortcutGroup& group) {
    auto* heading = styled<QLabel>("heading", group.title, page_);
    column.addWidget(heading);
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(kSpaceMedium);
    grid->setVerticalSpacing(2);
    grid->setColumnMinimumWidth(0, 112);
    grid->setColumnStretch(1, 1);
    int line = 0;
    for (const ShortcutGroup::Line& entry : group.lines) {
        auto* keys = styled<QLabel>("mono", entry.keys, page_);
        auto* text = styled<ElidedLabel>("dim", page_, Qt::ElideRight);
        text->setFullText(entry.text);
        grid->addWidget(keys, line, 0);
        grid->addWidget(text, line++, 1);
    }
    column.addLayout(grid);
}

QRect ShortcutSheet::placeIn(const QSize& window) const {
    const int width = std::min(900 + 2 * kShadow, window.width() - 2 * kSpaceSmall);
    const int height =
        std::min(std::max(layout()->sizeHint().height(), 300), window.height() - 2 * kSpaceSmall);
    return {(window.width() - width) / 2, (window.height() - height) / 2, width, height};
}

}  // namespace millrace::gui
