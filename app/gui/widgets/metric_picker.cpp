#include "app/gui/widgets/metric_picker.h"

#include <QListWidget>
#include <QScreen>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/models/fuzzy_match.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

MetricPicker::MetricPicker(const std::vector<std::string>& offered,
                           const std::vector<std::string>& chosen, QWidget* parent)
    : QFrame(parent, Qt::Popup),
      chosen_(chosen),
      search_(new SearchField(tr("Search metrics"), this)),
      list_(new QListWidget(this)) {
    millrace::gui::setLook(*this, "card");
    auto* layout = boxIn<QVBoxLayout>(this, kStyleSpacing,
                                      {kSpaceSmall, kSpaceSmall, kSpaceSmall, kSpaceSmall});
    layout->addWidget(search_);
    layout->addWidget(list_, 1);
    list_->setFrameShape(QFrame::NoFrame);
    list_->setAccessibleName(tr("Metrics"));
    if (offered.empty()) {
        auto* none = new QListWidgetItem(tr("No other metric is logged"), list_);
        none->setFlags(Qt::NoItemFlags);
    }
    for (const std::string& metric : session::inUsualOrder(offered)) {
        auto* item = new QListWidgetItem(metricTitle(metric), list_);
        item->setData(Qt::UserRole, qtext(metric));
        item->setToolTip(qtext(metric));
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
        const bool isChosen = std::ranges::find(chosen, metric) != chosen.end();
        item->setCheckState(isChosen ? Qt::Checked : Qt::Unchecked);
    }
    connect(list_, &QListWidget::itemChanged, this, [this] { toggle(); });
    connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) { search(text); });
    connect(search_, &SearchField::leftDown, this, [this] { list_->setFocus(); });
    resize(340, 420);
    search_->setFocus();
}

void MetricPicker::openBelow(const QWidget& button) {
    setAttribute(Qt::WA_DeleteOnClose);
    const QRect screen = button.screen()->availableGeometry();
    const QPoint below = button.mapToGlobal(QPoint(0, button.height() + 2));
    move(std::clamp(below.x(), screen.left(), std::max(screen.left(), screen.right() - width())),
         std::clamp(below.y(), screen.top(), std::max(screen.top(), screen.bottom() - height())));
    show();
}

void MetricPicker::setSearch(const QString& text) {
    search_->setText(text);
}

void MetricPicker::search(const QString& text) {
    QListWidgetItem* first = nullptr;
    for (int i = 0; i < list_->count(); ++i) {
        QListWidgetItem* item = list_->item(i);
        const QString name = item->data(Qt::UserRole).toString();
        const bool isShown = fuzzyMatch(text, item->text() + ' ' + name).has_value();
        item->setHidden(!isShown);
        first = first == nullptr && isShown ? item : first;
    }
    list_->setCurrentItem(first);
}

// Metrics that were selected before keep their order, new ones follow.
void MetricPicker::toggle() {
    for (int i = 0; i < list_->count(); ++i) {
        const QListWidgetItem* item = list_->item(i);
        const std::string name = item->data(Qt::UserRole).toString().toStdString();
        const auto place = std::ranges::find(chosen_, name);
        const bool isChosen = item->checkState() == Qt::Checked;
        if (isChosen && place == chosen_.end()) {
            chosen_.push_back(name);
        } else if (!isChosen && place != chosen_.end()) {
            chosen_.erase(place);
        }
    }
    Q_EMIT changed(chosen_);
}

}  // namespace millrace::gui
