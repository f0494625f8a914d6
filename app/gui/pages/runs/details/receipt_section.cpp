#include "app/gui/pages/runs/details/receipt_section.h"

#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/charts/chart.h"
#include "app/gui/models/run_text.h"
#include "app/gui/pages/runs/parts/fact_view.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr std::size_t kMostFiles = 2'000;

std::vector<RunFact> allFacts(const values::RunDetail& run) {
    std::vector<RunFact> facts = receiptFacts(run);
    const auto& files = run.receipt->files;
    for (std::size_t i = 0; i < std::min(files.size(), kMostFiles); ++i) {
        const values::FileReceipt& file = files[i];
        facts.push_back({ReceiptSection::tr("Files read"), qtext(file.path),
                         ReceiptSection::tr("%1 rows, %2")
                             .arg(countText(static_cast<double>(file.rows)),
                                  bytesText(static_cast<double>(file.bytes))),
                         ReceiptSection::tr("Footer %1").arg(qtext(file.footerHash))});
    }
    const auto shown = static_cast<std::int64_t>(std::min(files.size(), kMostFiles));
    const std::int64_t more = run.receipt->numFiles() - shown;
    if (more > 0) {
        facts.push_back({ReceiptSection::tr("Files read"), "",
                         ReceiptSection::tr("and %1 more: millrace show %2 --receipt")
                             .arg(more)
                             .arg(qtext(run.summary.id)),
                         ""});
    }
    return facts;
}

Funnel funnelOf(const values::Receipt& receipt, const QColor& color) {
    Funnel funnel;
    funnel.color = color;
    for (const values::StepReceipt& step : receipt.steps) {
        funnel.steps.push_back({qtext(step.step), "", static_cast<double>(step.rowsIn),
                                static_cast<double>(step.rowsOut)});
    }
    return funnel;
}

}  // namespace

ReceiptSection::ReceiptSection(QWidget* parent)
    : QWidget(parent),
      stack_(new QStackedWidget(this)),
      empty_(new EmptyState(this)),
      content_(new QWidget(this)),
      funnel_(makeChart(ChartKind::kFunnel, content_).release()),
      facts_(new FactView(tr("Receipt"), content_)) {
    auto* layout = boxIn<QVBoxLayout>(this);
    layout->addWidget(stack_);
    sayWhyEmpty(true);
    auto* inside = boxIn<QVBoxLayout>(content_, kStyleSpacing, kSectionMargins);
    funnel_->setTitle(tr("Rows through the recipe"));
    funnel_->setUnit({UnitKind::kCount, ""});
    funnel_->setEmptyText(tr("The recipe has no steps: every row is trained"));
    inside->addWidget(funnel_, 1);
    inside->addWidget(facts_, 1);
    stack_->addWidget(content_);
    stack_->addWidget(empty_);
    stack_->setCurrentWidget(empty_);
}

void ReceiptSection::sayWhyEmpty(bool hasDataset) {
    hasDataset
        ? empty_->setText(tr("No receipt yet"),
                          tr("A run writes its receipt at its end: which files it read, and how "
                             "many rows each step of the recipe kept."))
        : empty_->setText(tr("No receipt"), tr("A run without a dataset has no rows to count."));
}

void ReceiptSection::showDetail(const values::RunDetail& run) {
    if (!run.receipt) {
        sayWhyEmpty(!run.summary.dataset.empty());
        clear();
        return;
    }
    const int steps = static_cast<int>(run.receipt->steps.size());
    funnel_->setTitle(run.receipt->endsInsideSegment
                          ? tr("Rows through the recipe, of whole segments")
                          : tr("Rows through the recipe"));
    funnel_->setContent(funnelOf(*run.receipt, colorsOf(palette()).accent));
    funnel_->setMinimumHeight(std::clamp(60 + 34 * steps, 130, 360));
    funnel_->setMaximumHeight(std::max(130, 80 + 52 * steps));
    facts_->facts().setFacts(allFacts(run));
    stack_->setCurrentWidget(content_);
}

bool ReceiptSection::hasReceipt() const {
    return stack_->currentWidget() == content_;
}

void ReceiptSection::clear() {
    stack_->setCurrentWidget(empty_);
    facts_->facts().setFacts({});
}

}  // namespace millrace::gui
