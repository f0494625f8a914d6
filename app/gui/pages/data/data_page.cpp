#include "app/gui/pages/data/data_page.h"

#include <QDir>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QStackedLayout>
#include <QTimer>
#include <QVBoxLayout>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_text.h"
#include "app/gui/models/spec/spec_document.h"
#include "app/gui/models/spec/spec_syntax.h"
#include "app/gui/pages/data/data_table.h"
#include "app/gui/pages/data/dataset_view.h"
#include "app/gui/pages/data/steps_view.h"
#include "app/gui/widgets/panels.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {
namespace {

constexpr int kRestMs = 500;  // pause in typing before the spec is used

QString sentenceOf(const std::vector<values::SpecError>& errors) {
    QStringList lines;
    for (const values::SpecError& error : errors) {
        QString place = qtext(error.file);
        if (error.line > 0) {
            place += QStringLiteral(":%1:%2").arg(error.line).arg(error.column);
        }
        lines.append(place.isEmpty() ? qtext(error.message)
                                     : place + QStringLiteral(": ") + qtext(error.message));
        if (lines.size() == 3 && errors.size() > 3) {
            lines.append(QObject::tr("and %1 more; Launch shows them at their places")
                             .arg(errors.size() - 3));
            break;
        }
    }
    return lines.join('\n');
}

// From the text, not from the daemon: the list also follows while the spec has errors.
QStringList variationsOf(const QString& text) {
    const SpecSyntax syntax(text);
    QStringList names;
    if (syntax.isEmpty() || !syntax.node(syntax.root()).isMap()) {
        return names;
    }
    const int list = syntax.member(syntax.root(), u"variations");
    if (list < 0 || !syntax.node(list).isSequence()) {
        return names;
    }
    for (const int item : syntax.node(list).children) {
        const int name = syntax.node(item).isMap() ? syntax.member(item, u"name") : -1;
        if (name >= 0 && !syntax.value(name).isEmpty()) {
            names.append(syntax.value(name));
        }
    }
    return names;
}

}  // namespace

class DataPage::Parts {
 public:
    QString typedPath;
    QLineEdit* path = nullptr;
    QPushButton* fromSpec = nullptr;
    QLabel* source = nullptr;
    QProgressBar* progress = nullptr;
    MessageStrip* problem = nullptr;
    QStackedLayout* stack = nullptr;
    EmptyState* empty = nullptr;
    QSplitter* halves = nullptr;
    DatasetView* dataset = nullptr;
    StepsView* steps = nullptr;
    QTimer* rest = nullptr;
    // Stale: something changed since the last request. Asking: a reply is pending. Both may be
    // true.
    bool isDatasetStale = true, areStepsStale = true;
    bool isAskingDataset = false, areStepsAsked = false;
    bool isAsking() const { return isAskingDataset || areStepsAsked; }
};

DataPage::DataPage(const PageContext& context, QWidget* parent)
    : Page(context, parent), parts_(std::make_unique<Parts>()) {
    build();
    connectViews();
    specChanged();
}

DataPage::~DataPage() = default;

void DataPage::build() {
    auto* column = boxIn<QVBoxLayout>(this, kSpaceSmall,
                                      {kSpaceLarge, kSpaceMedium, kSpaceLarge, kSpaceMedium});
    column->addWidget(makeSource());
    parts_->progress = new QProgressBar(this);
    parts_->progress->setRange(0, 0);
    parts_->progress->setTextVisible(false);
    parts_->progress->setFixedHeight(3);
    QSizePolicy stays = parts_->progress->sizePolicy();
    // Keeps its 3 pixels while hidden, so that the page does not jump.
    stays.setRetainSizeWhenHidden(true);
    parts_->progress->setSizePolicy(stays);
    column->addWidget(parts_->progress);
    parts_->problem = new MessageStrip(this);
    column->addWidget(parts_->problem);
    parts_->stack = new QStackedLayout;
    parts_->halves = new QSplitter(Qt::Vertical, this);
    parts_->halves->setChildrenCollapsible(false);
    parts_->dataset = new DatasetView(parts_->halves);
    parts_->steps = new StepsView(parts_->halves);
    parts_->halves->setSizes({400, 430});
    setFocusPolicy(Qt::StrongFocus);
    parts_->empty = new EmptyState(this);
    parts_->empty->addButton(tr("Open a spec in Launch"), this,
                             [this] { Q_EMIT goTo({PageName::kLaunch}); });
    parts_->empty->addButton(tr("Type a path"), this, [this] { parts_->path->setFocus(); });
    parts_->stack->addWidget(parts_->halves);
    parts_->stack->addWidget(parts_->empty);
    column->addLayout(parts_->stack, 1);
    parts_->rest = new QTimer(this);
    parts_->rest->setSingleShot(true);
    parts_->rest->setInterval(kRestMs);
}

QWidget* DataPage::makeSource() {
    auto* row = new QWidget(this);
    auto* all = boxIn<QHBoxLayout>(row, kSpaceSmall);
    auto* title = styled<QLabel>("title", tr("Data"), row);
    all->addWidget(title);
    all->addSpacing(kSpaceSmall);
    auto* source = styled<ElidedLabel>("dim", row, Qt::ElideMiddle);
    parts_->source = source;
    all->addWidget(source, 1);
    parts_->fromSpec = new QPushButton(tr("Back to the spec's dataset"), row);
    all->addWidget(parts_->fromSpec);
    parts_->path = new QLineEdit(row);
    parts_->path->setPlaceholderText(tr("Another dataset: a file, directory or glob"));
    parts_->path->setAccessibleName(tr("Path of another dataset"));
    parts_->path->setClearButtonEnabled(true);
    parts_->path->setMinimumWidth(320);
    all->addWidget(parts_->path);
    auto* read = new QPushButton(tr("Read"), row);
    all->addWidget(read);
    connect(read, &QPushButton::clicked, this, [this] { showPath(parts_->path->text()); });
    connect(parts_->path, &QLineEdit::returnPressed, this,
            [this] { showPath(parts_->path->text()); });
    connect(parts_->fromSpec, &QPushButton::clicked, this, [this] { showPath({}); });
    return row;
}

void DataPage::connectViews() {
    connect(parts_->rest, &QTimer::timeout, this, &DataPage::ask);
    connect(parts_->steps, &StepsView::changed, this, [this] {
        parts_->areStepsStale = true;
        ask();
    });
    const auto tellCopied = [this](int rows) {
        Q_EMIT said({Notice::Kind::kDone,
                     rows == 1 ? tr("Copied 1 row as TSV")
                               : tr("Copied %1 rows as TSV").arg(countText(rows)),
                     {},
                     {}});
    };
    connect(parts_->steps, &StepsView::copied, this, tellCopied);
    connect(parts_->dataset, &DatasetView::copied, this, tellCopied);
    connect(&context().spec, &SpecDocument::changed, this, &DataPage::specChanged);
    connect(&context().daemon, &DaemonBridge::linkChanged, this, [this] {
        if (context().daemon.link().state == session::LinkState::kConnected) {
            askSoon();
        }
        showState();
    });
    connect(&context().daemon, &DaemonBridge::switched, this, [this] {
        // Answers of the previous daemon will not be delivered.
        parts_->isAskingDataset = parts_->areStepsAsked = false;
        parts_->isDatasetStale = parts_->areStepsStale = true;
        parts_->dataset->clear();
        askSoon();
    });
    for (const Command& command : commands()) {
        addKey(command.key, this, command.run);
    }
}

std::vector<Command> DataPage::commands() {
    StepsView* steps = parts_->steps;
    const bool hasSteps = steps->numSteps() > 0;
    std::vector<Command> all;
    const auto add = [&](const QString& title, const char* key, std::function<void()> run,
                         bool isEnabled = true) {
        all.push_back({title, QKeySequence(QString::fromLatin1(key)), std::move(run), isEnabled});
    };
    add(tr("Next step of the recipe"), "]", [steps] { steps->stepBy(1); }, hasSteps);
    add(tr("Step before"), "[", [steps] { steps->stepBy(-1); }, hasSteps);
    add(tr("Another sample of rows"), "N", [steps] { steps->anotherSample(); }, hasSteps);
    add(tr("Copy the sample rows as TSV"), "Ctrl+Shift+C", [steps] { steps->copy(); }, hasSteps);
    add(tr("Filter the columns"), "Ctrl+F", [this] { parts_->dataset->focusFilter(); });
    add(tr("Type a dataset's path"), "Ctrl+L", [this] {
        parts_->path->setFocus(Qt::ShortcutFocusReason);
        parts_->path->selectAll();
    });
    add(tr("Read the dataset again"), "F5", [this] {
        parts_->isDatasetStale = parts_->areStepsStale = true;
        ask();
    });
    return all;
}

bool DataPage::isSettled() const {
    const bool isWaiting = isVisible() && !context().spec.isEmpty() &&
                           (parts_->isDatasetStale || parts_->areStepsStale);
    return !parts_->isAsking() && !parts_->rest->isActive() && !isWaiting;
}

void DataPage::showPath(const QString& path) {
    parts_->typedPath = path.trimmed();
    parts_->path->setText(parts_->typedPath);
    parts_->isDatasetStale = true;
    ask();
}

DatasetView& DataPage::datasetView() const {
    return *parts_->dataset;
}

StepsView& DataPage::stepsView() const {
    return *parts_->steps;
}

QString DataPage::problem() const {
    return parts_->problem->sentence();
}

void DataPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    // Changes while the page was hidden started no timer: they are requested now.
    if (!parts_->rest->isActive()) {
        ask();
    }
}

void DataPage::specChanged() {
    parts_->steps->setVariations(variationsOf(context().spec.text()));
    parts_->areStepsStale = true;
    // A typed path has precedence over the spec's dataset; the steps always come from the spec.
    if (parts_->typedPath.isEmpty()) {
        parts_->isDatasetStale = true;
    }
    askSoon();
    showState();
}

void DataPage::askSoon() {
    if (isVisible()) {
        parts_->rest->start();
    }
}

void DataPage::ask() {
    parts_->rest->stop();
    showState();
    const bool isConnected = context().daemon.link().state == session::LinkState::kConnected;
    if (!isVisible() || !isConnected) {
        return;
    }
    if (parts_->isDatasetStale && !(parts_->typedPath.isEmpty() && context().spec.isEmpty())) {
        askDataset();
    }
    if (parts_->areStepsStale && !context().spec.isEmpty()) {
        askSteps();
    }
    showState();
}

void DataPage::askDataset() {
    values::DatasetRequest request;
    if (parts_->typedPath.isEmpty()) {
        request.spec = context().spec.source();
        request.baseDir = request.spec.baseDir;
    } else {
        request.paths = {parts_->typedPath.toStdString()};
        const QString base = context().spec.baseDir();
        request.baseDir = (base.isEmpty() ? QDir::currentPath() : base).toStdString();
    }
    parts_->isDatasetStale = false;
    parts_->isAskingDataset = true;
    context().daemon.dataset(std::move(request), this, [this](Result<values::DatasetReply> reply) {
        takeDataset(std::move(reply));
    });
}

void DataPage::askSteps() {
    const StepsView::Wish wish = parts_->steps->wish();
    values::StepsRequest request;
    request.spec = context().spec.source();
    request.variation = wish.variation.toStdString();
    request.rows = wish.rows;
    request.split = wish.split;
    request.firstRow = wish.firstRow;
    parts_->areStepsStale = false;
    parts_->steps->setBusy(true);
    parts_->areStepsAsked = true;
    context().daemon.steps(std::move(request), this, [this](Result<values::StepsReply> reply) {
        takeSteps(std::move(reply));
    });
}

void DataPage::takeDataset(Result<values::DatasetReply> reply) {
    parts_->isAskingDataset = false;
    if (!reply.ok()) {
        parts_->problem->setMessage(Tone::kBad, qtext(messageOf(reply.status())));
    } else if (!reply->errors.empty()) {
        parts_->problem->setMessage(Tone::kBad, sentenceOf(reply->errors));
    } else {
        parts_->problem->clearMessage();
        parts_->dataset->setReply(*reply);
    }
    showState();
}

void DataPage::takeSteps(Result<values::StepsReply> reply) {
    parts_->areStepsAsked = false;
    parts_->steps->setBusy(false);
    if (!reply.ok()) {
        parts_->steps->setError(qtext(messageOf(reply.status())));
    } else if (!reply->errors.empty()) {
        parts_->steps->setError(sentenceOf(reply->errors));
    } else {
        parts_->steps->setReply(*reply);
        // Only if nothing inside the page has the focus: the user may be typing.
        if (hasFocus()) {
            parts_->steps->list()->setFocus(Qt::OtherFocusReason);
        }
    }
    showState();
}

void DataPage::showState() {
    const SpecDocument& spec = context().spec;
    const bool hasPath = !parts_->typedPath.isEmpty();
    const bool isConnected = context().daemon.link().state == session::LinkState::kConnected;
    parts_->progress->setVisible(parts_->isAsking());
    parts_->fromSpec->setVisible(hasPath && !spec.isEmpty());
    QString source = hasPath ? parts_->typedPath
                     : spec.isEmpty()
                         ? QString()
                         : tr("the dataset of %1")
                               .arg(spec.path().isEmpty() ? tr("the open spec") : spec.path());
    static_cast<ElidedLabel*>(parts_->source)->setFullText(source);
    const bool hasSomething = hasPath || !spec.isEmpty();
    if (!isConnected && parts_->dataset->isEmpty()) {
        parts_->empty->setText(tr("Not connected"),
                               tr("The daemon reads datasets. The bar above says what is wrong."));
    } else {
        parts_->empty->setText(tr("No dataset is open"),
                               tr("Open a spec to see its dataset and what the recipe does to its "
                                  "rows, or type the path of any Parquet or CSV dataset."));
    }
    const bool isEmpty = !hasSomething || (!isConnected && parts_->dataset->isEmpty());
    parts_->stack->setCurrentIndex(isEmpty ? 1 : 0);
    if (spec.isEmpty()) {
        parts_->steps->setProblem(tr("No recipe is open"),
                                  tr("Open a spec in Launch: its steps and what each does to the "
                                     "rows are shown here."));
    }
}

void DataPage::saveState(QSettings& settings) const {
    settings.setValue(QStringLiteral("halves"), parts_->halves->saveState());
    settings.setValue(QStringLiteral("path"), parts_->typedPath);
    parts_->dataset->saveState(settings);
    parts_->steps->saveState(settings);
}

void DataPage::restoreState(QSettings& settings) {
    parts_->halves->restoreState(settings.value(QStringLiteral("halves")).toByteArray());
    // No request: the page is not visible yet, and showEvent() makes it.
    parts_->typedPath = settings.value(QStringLiteral("path")).toString();
    parts_->path->setText(parts_->typedPath);
    parts_->dataset->restoreState(settings);
    parts_->steps->restoreState(settings);
}

}  // namespace millrace::gui
