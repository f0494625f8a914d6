#include "app/gui/widgets/live/node_deck.h"

#include <QEvent>
#include <algorithm>
#include <vector>

#include "app/gui/widgets/live/node_card.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kColumnWidthMin = 260;

QStringList toList(const std::set<std::string>& names) {
    QStringList list;
    for (const std::string& name : names) {
        list.push_back(QString::fromStdString(name));
    }
    return list;
}

std::set<std::string> toSet(const QStringList& list) {
    std::set<std::string> names;
    for (const QString& name : list) {
        names.insert(name.toStdString());
    }
    return names;
}

}  // namespace

NodeDeck::NodeDeck(const NodeModel& model, QWidget* parent)
    : QScrollArea(parent), model_(model), page_(new QWidget(this)) {
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setWidget(page_);
    setWidgetResizable(false);
    setMinimumWidth(kColumnWidthMin);
    setAccessibleName(tr("Nodes"));
    connect(&model, &NodeModel::modelReset, this, &NodeDeck::rebuild);
    connect(&model, &NodeModel::rowsInserted, this, &NodeDeck::rebuild);
    connect(&model, &NodeModel::rowsRemoved, this, &NodeDeck::rebuild);
    connect(&model, &NodeModel::dataChanged, this,
            [this](const QModelIndex& first, const QModelIndex& last) {
                refreshRows(first.row(), last.row());
            });
    rebuild();
}

NodeCard* NodeDeck::card(const std::string& node) const {
    const auto found = cards_.find(node);
    return found == cards_.end() ? nullptr : found->second;
}

bool NodeDeck::isOpenAtFirst(const std::string& node) const {
    if (opened_.contains(node)) {
        return true;
    }
    return !closed_.contains(node) && model_.numNodes() <= kNumOpenMax;
}

void NodeDeck::addCard(const std::string& node) {
    auto* card = new NodeCard(model_, node, page_);
    card->installEventFilter(this);
    cards_[node] = card;
    connect(card, &NodeCard::toggled, this, [this, card](bool isOpen) {
        if (!isArranging_) {
            (isOpen ? opened_ : closed_).insert(card->node());
            (isOpen ? closed_ : opened_).erase(card->node());
            arrange();
        }
    });
    card->show();
}

void NodeDeck::rebuild() {
    std::set<std::string> named;
    for (int row = 0; row < model_.numNodes(); ++row) {
        named.insert(model_.node(row).info.name);
    }
    for (auto entry = cards_.begin(); entry != cards_.end();) {
        if (!named.contains(entry->first)) {
            entry->second->deleteLater();
            entry->second->hide();
            entry = cards_.erase(entry);
        } else {
            ++entry;
        }
    }
    for (const std::string& name : named) {
        if (!cards_.contains(name)) {
            addCard(name);
        }
    }
    isArranging_ = true;
    for (auto& [name, card] : cards_) {
        card->setOpen(isOpenAtFirst(name));
    }
    isArranging_ = false;
    arrange();
}

// A hidden page gets no layout request: look for cards that have grown here.
void NodeDeck::refreshRows(int first, int last) {
    bool hasGrown = false;
    for (int row = first; row <= last; ++row) {
        if (NodeCard* changed = card(model_.node(row).info.name)) {
            hasGrown = hasGrown || changed->height() != changed->sizeHint().height();
            changed->update();
        }
    }
    if (hasGrown) {
        arrange();
    }
}

int NodeDeck::numColumns() const {
    const int most = std::max(1, viewport()->width() / kColumnWidthMin);
    return std::clamp(most, 1, std::max(1, model_.numNodes()));
}

// Puts each card into the shortest column so far: no holes, and the order still reads downwards.
void NodeDeck::arrange() {
    if (isArranging_) {
        return;
    }
    isArranging_ = true;
    const int columns = numColumns();
    const int width = (viewport()->width() - (columns - 1) * kSpaceSmall) / columns;
    std::vector<int> bottoms(static_cast<std::size_t>(columns), 0);
    QWidget* before = nullptr;
    std::vector<const NodeState*> nodes;  // the head first
    for (int row = 0; row < model_.numNodes(); ++row) {
        nodes.push_back(&model_.node(row));
    }
    std::ranges::stable_partition(nodes, [](const NodeState* node) { return node->info.isHead; });
    for (const NodeState* node : nodes) {
        NodeCard* const next = card(node->info.name);
        if (next == nullptr) {
            continue;
        }
        const auto least = std::ranges::min_element(bottoms);
        const int column = static_cast<int>(least - bottoms.begin());
        next->resize(width, next->height());
        next->setGeometry(column * (width + kSpaceSmall), *least, width, next->sizeHint().height());
        *least += next->height() + kSpaceSmall;
        if (before != nullptr) {
            QWidget::setTabOrder(before, next);
        }
        before = next;
    }
    page_->resize(viewport()->width(), *std::ranges::max_element(bottoms));
    isArranging_ = false;
}

void NodeDeck::setAllOpen(bool isOpen) {
    for (auto& [name, card] : cards_) {
        card->setOpen(isOpen);
    }
}

void NodeDeck::resizeEvent(QResizeEvent* event) {
    QScrollArea::resizeEvent(event);
    arrange();
}

bool NodeDeck::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::LayoutRequest || event->type() == QEvent::FontChange) {
        arrange();
    }
    if (event->type() == QEvent::FocusIn) {
        ensureWidgetVisible(static_cast<QWidget*>(watched), 0, kSpaceSmall);
    }
    return QScrollArea::eventFilter(watched, event);
}

void NodeDeck::saveState(QSettings& settings) const {
    settings.setValue(QStringLiteral("nodes/opened"), toList(opened_));
    settings.setValue(QStringLiteral("nodes/closed"), toList(closed_));
}

void NodeDeck::restoreState(QSettings& settings) {
    opened_ = toSet(settings.value(QStringLiteral("nodes/opened")).toStringList());
    closed_ = toSet(settings.value(QStringLiteral("nodes/closed")).toStringList());
    rebuild();
}

}  // namespace millrace::gui
