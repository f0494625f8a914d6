#include "app/gui/pages/runs/column_chooser.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>
#include <utility>

#include "app/gui/models/fuzzy_match.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/models/runs/run_column.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kKeyRole = Qt::UserRole, kGroupRole = Qt::UserRole + 1;

std::vector<QString> metricKeys(const std::vector<std::string>& metrics) {
    std::vector<QString> keys;
    for (const std::string& metric : session::inUsualOrder(metrics)) {
        const QString name = qtext(metric);
        keys.push_back("metric:" + name);
        if (values::senseOf(metric) != values::MetricSense::kUnknown) {
            keys.push_back("best:" + name);
        } else {
            keys.push_back("low:" + name);
            keys.push_back("high:" + name);
        }
        keys.push_back("trend:" + name);
    }
    return keys;
}

std::vector<QString> named(const char* prefix, const std::vector<std::string>& names) {
    std::vector<QString> keys;
    for (const std::string& name : names) {
        keys.push_back(prefix + qtext(name));
    }
    return keys;
}

}  // namespace

ColumnChooser::ColumnChooser(const RunColumns& columns, const ColumnOffer& offer, QWidget* parent)
    : QFrame(parent, Qt::Popup), columns_(columns) {
    setLook(*this, "card");
    build();
    isFilling_ = true;
    addGroup(tr("Run"), fieldKeys());
    addGroup(tr("Metrics"), metricKeys(offer.metrics));
    addGroup(tr("Spec keys"), named("param:", offer.params));
    addGroup(tr("Tags"), named("tag:", offer.tags));
    isFilling_ = false;
    resize(420, 520);
    search_->setFocus();
}

void ColumnChooser::build() {
    auto* layout = boxIn<QVBoxLayout>(this, kStyleSpacing,
                                      {kSpaceSmall, kSpaceSmall, kSpaceSmall, kSpaceSmall});
    search_ = new SearchField(tr("Search columns, metrics, spec keys"), this);
    list_ = new QListWidget(this);
    list_->setAccessibleName(tr("Columns"));
    list_->setUniformItemSizes(true);
    list_->setFrameShape(QFrame::NoFrame);
    layout->addWidget(search_);
    layout->addWidget(list_, 1);
    auto* foot = new QHBoxLayout;
    auto* hint = styled<QLabel>("caption", tr("Space shows, P pins"), this);
    auto* usual = styled<QPushButton>("flat", tr("Usual columns"), this);
    foot->addWidget(hint, 1);
    foot->addWidget(usual);
    layout->addLayout(foot);
    connect(usual, &QPushButton::clicked, this, [this] {
        Q_EMIT resetAsked();
        close();
    });
    connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) { search(text); });
    connect(search_, &SearchField::leftDown, this, [this] { list_->setFocus(); });
    connect(list_, &QListWidget::itemChanged, this, [this](QListWidgetItem* item) {
        if (!isFilling_) {
            toggle(*item);
        }
    });
    list_->installEventFilter(this);
}

void ColumnChooser::addGroup(const QString& title, const std::vector<QString>& keys) {
    if (keys.empty()) {
        return;
    }
    auto* head = new QListWidgetItem(title, list_);
    head->setFlags(Qt::NoItemFlags);
    head->setData(kGroupRole, title);
    head->setFont(captionFont(font()));
    for (const QString& key : keys) {
        auto* item = new QListWidgetItem(list_);
        item->setData(kKeyRole, key);
        item->setData(kGroupRole, title);
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
        showItem(*item);
    }
}

void ColumnChooser::showItem(QListWidgetItem& item) {
    const QString key = item.data(kKeyRole).toString();
    const RunColumnInfo facts = factsOf(key);
    bool isPinned = false;
    for (const ShownColumn& shown : columns_.shown()) {
        isPinned = isPinned || (shown.key == key && shown.isPinned);
    }
    const bool wasFilling = std::exchange(isFilling_, true);
    item.setText(facts.title + (isPinned ? tr("   (pinned)") : QString()));
    item.setToolTip(facts.tip);
    item.setCheckState(columns_.has(key) ? Qt::Checked : Qt::Unchecked);
    isFilling_ = wasFilling;
}

void ColumnChooser::toggle(QListWidgetItem& item) {
    const QString key = item.data(kKeyRole).toString();
    if (key.isEmpty()) {
        return;
    }
    if (item.checkState() == Qt::Checked) {
        columns_.add(key);
    } else {
        columns_.remove(key);
    }
    showItem(item);
    Q_EMIT changed(columns_);
}

void ColumnChooser::pin(QListWidgetItem& item) {
    const QString key = item.data(kKeyRole).toString();
    bool isPinned = false;
    for (const ShownColumn& shown : columns_.shown()) {
        isPinned = isPinned || (shown.key == key && shown.isPinned);
    }
    columns_.add(key);
    columns_.setPinned(key, !isPinned);
    showItem(item);
    Q_EMIT changed(columns_);
}

void ColumnChooser::setSearch(const QString& text) {
    search_->setText(text);
}

void ColumnChooser::search(const QString& text) {
    std::vector<QListWidgetItem*> heads;
    QListWidgetItem* first = nullptr;
    for (int i = 0; i < list_->count(); ++i) {
        QListWidgetItem* item = list_->item(i);
        const QString key = item->data(kKeyRole).toString();
        if (key.isEmpty()) {
            item->setHidden(!text.isEmpty());
            continue;
        }
        const bool isShown = fuzzyMatch(text, item->text() + ' ' + key).has_value();
        item->setHidden(!isShown);
        first = first == nullptr && isShown ? item : first;
    }
    list_->setCurrentItem(first);
}

std::vector<QString> ColumnChooser::offered() const {
    std::vector<QString> keys;
    for (int i = 0; i < list_->count(); ++i) {
        const QListWidgetItem* item = list_->item(i);
        if (!item->isHidden() && !item->data(kKeyRole).toString().isEmpty()) {
            keys.push_back(item->data(kKeyRole).toString());
        }
    }
    return keys;
}

bool ColumnChooser::eventFilter(QObject* watched, QEvent* event) {
    if (watched == list_ && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_P && list_->currentItem() != nullptr) {
            pin(*list_->currentItem());
            return true;
        }
        if (key->key() == Qt::Key_Up && list_->currentRow() <= 1) {
            search_->setFocus();
            return true;
        }
    }
    return QFrame::eventFilter(watched, event);
}

}  // namespace millrace::gui
