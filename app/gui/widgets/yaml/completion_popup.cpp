#include "app/gui/widgets/yaml/completion_popup.h"

#include <QPainter>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/widgets/theme.h"
#include "app/gui/widgets/yaml/yaml_highlighter.h"

namespace millrace::gui {
namespace {

constexpr int kRowsShown = 9;
constexpr int kDetailRole = Qt::UserRole + 1;
constexpr int kKindRole = Qt::UserRole + 2;

SpecToken::Kind tokenOf(Completion::Kind kind) {
    switch (kind) {
        case Completion::Kind::kKey:
            return SpecToken::Kind::kKey;
        case Completion::Kind::kColumn:
            return SpecToken::Kind::kColumn;
        case Completion::Kind::kFunction:
            return SpecToken::Kind::kFunction;
        case Completion::Kind::kOperator:
            return SpecToken::Kind::kOperator;
        case Completion::Kind::kStep:
            return SpecToken::Kind::kChange;
        default:
            return SpecToken::Kind::kWord;
    }
}

/// The letter before an item: k key, c column, f function, o operator, s step, w word.
QString letterOf(Completion::Kind kind) {
    static const QString kLetters = QStringLiteral("kwcfos");
    return kLetters.mid(static_cast<int>(kind), 1);
}

class ItemDelegate final : public QStyledItemDelegate {
 public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override {
        return {200, option.fontMetrics.height() + kSpaceTiny + 2};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const ThemeColors& colors = colorsOf(option.palette);
        const bool isChosen = (option.state & QStyle::State_Selected) != 0;
        painter->fillRect(option.rect, isChosen ? colors.selection : colors.raised);
        const auto kind = static_cast<Completion::Kind>(index.data(kKindRole).toInt());
        QRect rect = option.rect.adjusted(kSpaceSmall, 0, -kSpaceSmall, 0);
        painter->setFont(option.font);
        painter->setPen(tokenColor(tokenOf(kind), colors));
        painter->drawText(rect, Qt::AlignVCenter, letterOf(kind));
        rect.adjust(option.fontMetrics.horizontalAdvance(u'm') + kSpaceSmall, 0, 0, 0);
        const QString label = index.data(Qt::DisplayRole).toString();
        const QString shown = option.fontMetrics.elidedText(label, Qt::ElideMiddle, rect.width());
        painter->setPen(colors.text);
        painter->drawText(rect, Qt::AlignVCenter, shown);
        rect.adjust(option.fontMetrics.horizontalAdvance(shown) + kSpaceLarge, 0, 0, 0);
        painter->setPen(colors.dim);
        const QString detail = index.data(kDetailRole).toString();
        painter->drawText(rect, Qt::AlignVCenter | Qt::AlignRight,
                          option.fontMetrics.elidedText(detail, Qt::ElideRight, rect.width()));
    }
};

}  // namespace

CompletionPopup::CompletionPopup(QWidget* parent)
    : QFrame(parent),
      list_(new QListWidget(this)),
      doc_(new QLabel(this)),
      hint_(new QLabel(parent)) {
    setLook(*this, "card");
    setFocusPolicy(Qt::NoFocus);
    setCursor(Qt::ArrowCursor);
    setAutoFillBackground(true);
    auto* layout = boxIn<QVBoxLayout>(this, 0, {1, 1, 1, 1});
    list_->setFocusPolicy(Qt::NoFocus);
    list_->setFrameShape(QFrame::NoFrame);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    list_->setItemDelegate(new ItemDelegate(list_));
    list_->setAccessibleName(tr("Completions"));
    list_->setUniformItemSizes(true);
    layout->addWidget(list_);
    doc_->setWordWrap(true);
    doc_->setMargin(kSpaceSmall);
    setLook(*doc_, "dim");
    layout->addWidget(doc_);
    setLook(*hint_, "tip");
    hint_->setAutoFillBackground(true);
    hint_->setMargin(kSpaceTiny + 2);
    hint_->setTextFormat(Qt::RichText);
    hint_->hide();
    hide();
    connect(list_, &QListWidget::currentRowChanged, this, [this] { showDoc(); });
    connect(list_, &QListWidget::itemClicked, this, [this] {
        if (current() != nullptr) {
            Q_EMIT chosen(Completion(*current()));
        }
    });
}

void CompletionPopup::showItems(std::vector<Completion> items, const QRect& line) {
    items_ = std::move(items);
    list_->clear();
    if (items_.empty()) {
        hide();
        return;
    }
    list_->setFont(monoFont(parentWidget()->font()));
    int width = 0;
    const QFontMetrics metrics(list_->font());
    for (const Completion& item : items_) {
        auto* row = new QListWidgetItem(item.label, list_);
        row->setData(kDetailRole, item.detail);
        row->setData(kKindRole, static_cast<int>(item.kind));
        width = std::max(width, metrics.horizontalAdvance(item.label + item.detail));
    }
    const int rowHeight = metrics.height() + kSpaceTiny + 2;
    const int rows = std::min<int>(kRowsShown, static_cast<int>(items_.size()));
    list_->setFixedHeight(rows * rowHeight + 2);
    const int room = parentWidget()->width() - kSpaceLarge;
    setFixedWidth(std::min(std::clamp(width + 90, 340, 640), room));
    list_->setCurrentRow(0);
    showDoc();
    adjustSize();
    const int below = line.bottom() + 2;
    const bool fitsBelow = below + height() <= parentWidget()->height();
    const int y = fitsBelow ? below : std::max(0, line.top() - height() - 2);
    const int x = std::min(line.left(), parentWidget()->width() - maximumWidth());
    QFrame::move(std::max(0, x), y);
    raise();
    show();
}

void CompletionPopup::showDoc() {
    const Completion* item = current();
    doc_->setVisible(item != nullptr && !item->doc.isEmpty());
    if (item != nullptr) {
        doc_->setText(item->doc);
        doc_->setFixedHeight(doc_->heightForWidth(std::max(1, maximumWidth() - 2)));
        adjustSize();
    }
}

void CompletionPopup::showHint(const std::optional<CallHint>& hint, const QRect& line) {
    if (!hint) {
        hint_->hide();
        return;
    }
    const QString& all = hint->signature;
    const int from = hint->argumentBegin, to = hint->argumentEnd;
    hint_->setText(QStringLiteral("<code>%1<b><u>%2</u></b>%3</code>&nbsp;&nbsp;%4")
                       .arg(all.left(from).toHtmlEscaped(),
                            all.mid(from, to - from).toHtmlEscaped(), all.mid(to).toHtmlEscaped(),
                            hint->doc.toHtmlEscaped()));
    hint_->adjustSize();
    // Above the line, or above the list if that is above the line.
    const bool isListAbove = isVisible() && geometry().top() < line.top();
    const int y = (isListAbove ? geometry().top() : line.top()) - hint_->height() - 2;
    const int x = std::clamp(line.left(), 0, std::max(0, parentWidget()->width() - hint_->width()));
    hint_->move(x, y < 0 ? line.bottom() + 2 : y);
    hint_->raise();
    hint_->show();
}

void CompletionPopup::dismiss() {
    hide();
    hint_->hide();
    items_.clear();
}

void CompletionPopup::move(int rows) {
    const int count = list_->count();
    if (count == 0) {
        return;
    }
    const int wanted = list_->currentRow() + rows;
    const bool isStep = rows == 1 || rows == -1;
    list_->setCurrentRow(isStep ? (wanted + count) % count : std::clamp(wanted, 0, count - 1));
}

const Completion* CompletionPopup::current() const {
    const int row = list_->currentRow();
    return row >= 0 && row < static_cast<int>(items_.size())
               ? &items_[static_cast<std::size_t>(row)]
               : nullptr;
}

}  // namespace millrace::gui
