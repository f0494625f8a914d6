#include "app/gui/pages/data/steps_view.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QListView>
#include <QRandomGenerator>
#include <QScrollBar>
#include <QSettings>
#include <QSpinBox>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>

#include "app/gui/models/run_text.h"
#include "app/gui/pages/data/data_delegates.h"
#include "app/gui/pages/data/data_table.h"
#include "app/gui/widgets/icons.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kRowChoices[] = {20, 50, 200, 1000};

int asInt(std::int64_t value) {
    return static_cast<int>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<int>::max()));
}

QLabel* captionLabel(const QString& text, QWidget* parent) {
    return styled<QLabel>("caption", text, parent);
}

}  // namespace

StepsView::StepsView(QWidget* parent)
    : QWidget(parent), before_(SampleModel::Side::kBefore), after_(SampleModel::Side::kAfter) {
    auto* all = boxIn<QVBoxLayout>(this);
    auto* card = new Card(tr("Recipe"), this);
    all->addWidget(card);
    card->header()->addWidget(makeHeader());
    error_ = new MessageStrip(card);
    card->body()->addWidget(error_);
    empty_ = new EmptyState(card);
    body_ = qobject_cast<QSplitter*>(makeBody());
    card->body()->addWidget(body_, 1);
    card->body()->addWidget(empty_, 1);
    connectTables();
    setProblem(tr("No rows yet"), {});
}

QSpinBox* StepsView::makeNumber(const QString& caption, const QString& toolTip, QWidget* row) {
    row->layout()->addWidget(captionLabel(caption, row));
    auto* number = new QSpinBox(row);
    number->setRange(0, 0);
    // A request follows the whole number, not each digit.
    number->setKeyboardTracking(false);
    number->setToolTip(toolTip);
    number->setAccessibleName(caption);
    number->setMinimumWidth(72);
    row->layout()->addWidget(number);
    connect(number, &QSpinBox::valueChanged, this, [this] {
        // isFilling_ is set while the view itself changes its fields: only changes of the user
        // count.
        if (!isFilling_) {
            Q_EMIT changed();
        }
    });
    return number;
}

QWidget* StepsView::makeHeader() {
    auto* row = new QWidget(this);
    auto* all = boxIn<QHBoxLayout>(row, kSpaceSmall);
    const auto addBox = [&](const QString& caption, const QString& toolTip) {
        all->addWidget(captionLabel(caption, row));
        auto* box = new QComboBox(row);
        box->setToolTip(toolTip);
        box->setAccessibleName(caption);
        all->addWidget(box);
        return box;
    };
    variation_ = addBox(tr("Variation"), tr("The recipe of the base, or of a variation"));
    variation_->setMinimumContentsLength(10);
    variation_->addItem(tr("base"), QString());
    rows_ = addBox(tr("Rows"), tr("How many rows of the dataset go in"));
    for (const int rows : kRowChoices) {
        rows_->addItem(countText(rows), rows);
    }
    rows_->setCurrentIndex(1);
    split_ = makeNumber(tr("Split"),
                        tr("Which split of the plan: a row group, or a part of a file"), row);
    splits_ = captionLabel({}, row);
    all->addWidget(splits_);
    firstRow_ = makeNumber(tr("from row"), tr("The first row within the split"), row);
    splitRows_ = captionLabel({}, row);
    all->addWidget(splitRows_);
    another_ = new QToolButton(row);
    another_->setText(tr("Another sample"));
    another_->setIcon(icon(Glyph::kRefresh));
    another_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    another_->setToolTip(tr("Rows from somewhere else  N"));
    all->addWidget(another_);
    return row;
}

QWidget* StepsView::makeComparison(QWidget* parent) {
    auto* row = new QWidget(parent);
    auto* all = boxIn<QHBoxLayout>(row, kSpaceSmall);
    summary_ = new QLabel(row);
    summary_->setTextFormat(Qt::PlainText);
    summary_->setWordWrap(true);
    summary_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    all->addWidget(summary_, 1);
    all->addWidget(captionLabel(tr("Compare with"), row));
    against_ = new QComboBox(row);
    against_->setToolTip(tr("The step shown on the left"));
    against_->setAccessibleName(tr("Compare with"));
    against_->addItem(tr("the step before"));
    against_->addItem(tr("the dataset"));
    all->addWidget(against_);
    onlyChanges_ = new QCheckBox(tr("Only changed rows"), row);
    all->addWidget(onlyChanges_);
    return row;
}

QWidget* StepsView::makeSide(SampleModel& model, QLabel*& title, DataTable*& table) {
    auto* side = new QWidget(this);
    auto* column = boxIn<QVBoxLayout>(side, kSpaceTiny);
    title = styled<ElidedLabel>("caption", side, Qt::ElideRight);
    column->addWidget(title);
    table = new DataTable(side);
    table->setHorizontalHeader(new SampleHeader(table));
    table->setItemDelegate(new SampleDelegate(table));
    table->setFont(monoFont(font()));
    table->verticalHeader()->show();
    table->verticalHeader()->setFont(captionFont(font()));
    table->setModel(&model);
    column->addWidget(table, 1);
    connect(table, &DataTable::copied, this, &StepsView::copied);
    return side;
}

QWidget* StepsView::makeBody() {
    auto* split = new QSplitter(Qt::Horizontal, this);
    split->setChildrenCollapsible(false);
    list_ = new QListView(split);
    list_->setModel(&steps_);
    list_->setItemDelegate(new StepDelegate(list_));
    list_->setFrameShape(QFrame::NoFrame);
    list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    list_->setAccessibleName(tr("Steps of the recipe"));
    list_->setMinimumWidth(180);
    auto* right = new QWidget(split);
    auto* column = boxIn<QVBoxLayout>(right);
    column->addWidget(makeComparison(right));
    auto* sides = new QSplitter(Qt::Horizontal, right);
    sides->setChildrenCollapsible(false);
    beforeSide_ = makeSide(before_, beforeTitle_, beforeTable_);
    beforeTable_->setAccessibleName(tr("Rows before the step"));
    sides->addWidget(beforeSide_);
    sides->addWidget(makeSide(after_, afterTitle_, afterTable_));
    afterTable_->setAccessibleName(tr("Rows after the step"));
    sides->setSizes({500, 500});
    column->addWidget(sides, 1);
    split->addWidget(list_);
    split->addWidget(right);
    split->setSizes({260, 1100});
    split->setStretchFactor(1, 1);
    return split;
}

void StepsView::connectTables() {
    // Both sides have the same rows: they scroll together.
    QScrollBar *left = beforeTable_->verticalScrollBar(), *right = afterTable_->verticalScrollBar();
    connect(left, &QScrollBar::valueChanged, right, &QScrollBar::setValue);
    connect(right, &QScrollBar::valueChanged, left, &QScrollBar::setValue);
    connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this,
            [this](const QModelIndex& index) {
                if (!isFilling_ && index.isValid()) {
                    choose(index.row());
                }
            });
    connect(variation_, &QComboBox::activated, this, &StepsView::changed);
    connect(rows_, &QComboBox::activated, this, &StepsView::changed);
    connect(against_, &QComboBox::activated, this, &StepsView::compare);
    connect(another_, &QToolButton::clicked, this, &StepsView::anotherSample);
    connect(onlyChanges_, &QCheckBox::toggled, this, [this](bool isOn) {
        before_.setOnlyChanges(isOn);
        after_.setOnlyChanges(isOn);
    });
}

void StepsView::setVariations(const QStringList& names) {
    // The choice is kept by its name. clear() and addItem() emit no activated(), so nothing is
    // requested here.
    const QString chosen = variation_->currentData().toString();
    variation_->clear();
    variation_->addItem(tr("base"), QString());
    for (const QString& name : names) {
        variation_->addItem(name, name);
    }
    variation_->setCurrentIndex(std::max(0, variation_->findData(chosen)));
}

StepsView::Wish StepsView::wish() const {
    return {variation_->currentData().toString(), rows_->currentData().toInt(), split_->value(),
            firstRow_->value()};
}

void StepsView::limitNumbers(const values::StepsReply& reply) {
    isFilling_ = true;
    split_->setRange(0, asInt(std::max<std::int64_t>(0, reply.splits - 1)));
    firstRow_->setRange(0, asInt(std::max<std::int64_t>(0, reply.splitRows - 1)));
    splits_->setText(tr("of %1 in the plan").arg(countText(static_cast<double>(reply.splits))));
    splitRows_->setText(tr("of %1").arg(countText(static_cast<double>(reply.splitRows))));
    isFilling_ = false;
}

void StepsView::setReply(const values::StepsReply& reply) {
    reply_ = reply;
    limitNumbers(reply);
    isFilling_ = true;
    steps_.setStages(reply.stages);
    isFilling_ = false;
    error_->clearMessage();
    const bool hasRows = !reply.stages.empty();
    body_->setVisible(hasRows);
    empty_->setVisible(!hasRows);
    if (hasRows) {
        const int last = steps_.rowCount() - 1;
        // Stays at the step that the user looks at, unless the recipe became shorter.
        choose(current_ < 0 ? firstWithChange() : std::min(current_, last));
    }
}

// The first step that changed something.
int StepsView::firstWithChange() const {
    for (std::size_t i = 1; i < reply_.stages.size(); ++i) {
        const SampleDiff diff = sampleDiff(reply_.stages[i - 1], reply_.stages[i]);
        if (diff.numRemoved + diff.numAdded + diff.numColumnsAdded + diff.numColumnsRemoved +
                diff.numChangedCells >
            0) {
            return static_cast<int>(i);
        }
    }
    return std::min(1, steps_.rowCount() - 1);
}

void StepsView::setProblem(const QString& title, const QString& sentence) {
    reply_ = {};
    steps_.setStages({});
    before_.setComparison(nullptr);
    after_.setComparison(nullptr);
    error_->clearMessage();
    empty_->setText(title, sentence);
    body_->hide();
    empty_->show();
}

void StepsView::setError(const QString& sentence) {
    error_->setMessage(Tone::kBad, sentence);
}

void StepsView::setBusy(bool isBusy) {
    another_->setText(isBusy ? tr("Reading\u2026") : tr("Another sample"));
}

void StepsView::choose(int step) {
    if (step < 0 || step >= steps_.rowCount()) {
        return;
    }
    current_ = step;
    isFilling_ = true;
    list_->setCurrentIndex(steps_.index(step));
    list_->scrollTo(steps_.index(step));
    isFilling_ = false;
    compare();
}

bool StepsView::isComparingWithDataset() const {
    return against_->currentIndex() == 1;
}

void StepsView::compare() {
    if (current_ < 0 || current_ >= steps_.rowCount()) {
        return;
    }
    const auto place = static_cast<std::size_t>(current_);
    const values::SampleStage& stage = reply_.stages[place];
    std::shared_ptr<const SampleComparison> comparison;
    if (current_ == 0) {
        comparison = aloneStage(stage);
    } else {
        comparison = compareStages(reply_.stages[isComparingWithDataset() ? 0 : place - 1], stage);
    }
    before_.setComparison(comparison);
    after_.setComparison(comparison);
    showSides(*comparison);
}

void StepsView::showSides(const SampleComparison& comparison) {
    const bool isAlone = comparison.isAlone;
    beforeSide_->setVisible(!isAlone);
    const auto rowsOf = [](const values::SampleStage& stage) {
        return tr("%1 rows, %2 columns")
            .arg(countText(static_cast<double>(stage.rowIds.size())),
                 countText(static_cast<double>(stage.columns.size())));
    };
    // A disabled step changes no rows: compare with the enabled one before it.
    int from = isComparingWithDataset() ? 0 : std::max(0, current_ - 1);
    while (from > 0 && !steps_.stage(from).isEnabled) {
        --from;
    }
    const QString source =
        from == 0 ? tr("Dataset") : tr("After %1").arg(qtext(steps_.stage(from).step));
    static_cast<ElidedLabel*>(beforeTitle_)
        ->setFullText(source + QStringLiteral(" \u00b7 ") + rowsOf(comparison.before));
    static_cast<ElidedLabel*>(afterTitle_)
        ->setFullText((isAlone ? tr("Dataset") : tr("After %1").arg(qtext(comparison.after.step))) +
                      QStringLiteral(" \u00b7 ") + rowsOf(comparison.after));
    QString text;
    if (isAlone) {
        text = tr("The rows as they are read, after dataset.where.");
    } else if (!comparison.after.isEnabled && !isComparingWithDataset()) {
        text = tr("%1 is switched off: rows pass as they are.").arg(qtext(comparison.after.step));
    } else {
        text = tr("%1 %2.").arg(qtext(comparison.after.step),
                                whatChanged(comparison.diff, comparison.before, comparison.after));
    }
    summary_->setText(text);
    beforeTable_->fitColumns();
    afterTable_->fitColumns();
    const int marked = after_.firstMarkedColumn();
    if (marked >= 0 && after_.rowCount() > 0) {
        afterTable_->scrollTo(after_.index(0, marked));
    }
}

void StepsView::anotherSample() {
    if (reply_.splits == 0) {
        return;
    }
    QRandomGenerator& random = *QRandomGenerator::global();
    isFilling_ = true;
    split_->setValue(random.bounded(std::max(1, asInt(reply_.splits))));
    // The new split's size is not known yet: the row is drawn from the size of the last one.
    const int last = std::max(1, asInt(reply_.splitRows) - rows_->currentData().toInt());
    firstRow_->setValue(random.bounded(last));
    isFilling_ = false;
    Q_EMIT changed();
}

void StepsView::copy() {
    (beforeTable_->hasFocus() ? beforeTable_ : afterTable_)->copy();
}

void StepsView::saveState(QSettings& settings) const {
    settings.setValue(QStringLiteral("steps"), body_->saveState());
    settings.setValue(QStringLiteral("rows"), rows_->currentData().toInt());
}

void StepsView::restoreState(QSettings& settings) {
    body_->restoreState(settings.value(QStringLiteral("steps")).toByteArray());
    rows_->setCurrentIndex(
        std::max(0, rows_->findData(settings.value(QStringLiteral("rows"), 50).toInt())));
}

}  // namespace millrace::gui
