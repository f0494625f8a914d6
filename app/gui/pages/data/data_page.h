#pragma once
// DataPage: the content of a dataset, and the effect of the recipe on its rows.
//
// Shows the dataset of the open spec, or of a path that the user typed; rows go through the recipe
// of the open spec. Makes requests while it is visible and something changed; the newest request
// wins. Threads: the GUI thread. Failure: the daemon's sentences are shown above the part they
// concern; earlier results stay until new ones arrive.
#include <memory>

#include "app/gui/pages/page.h"
#include "backend/core/status.h"
#include "backend/values/inspection.h"

class QTimer;

namespace millrace::gui {

class DatasetView;
class StepsView;

class DataPage final : public Page {
    Q_OBJECT

 public:
    explicit DataPage(const PageContext& context, QWidget* parent = nullptr);
    ~DataPage() override;

    PageName name() const override { return PageName::kData; }
    std::vector<Command> commands() override;
    bool isSettled() const override;
    void saveState(QSettings& settings) const override;
    void restoreState(QSettings& settings) override;

    /// Shows another dataset than the spec's; "" returns to the spec's.
    void showPath(const QString& path);
    DatasetView& datasetView() const;
    StepsView& stepsView() const;
    /// The sentence above the dataset; "" while all is well.
    QString problem() const;

 protected:
    void showEvent(QShowEvent* event) override;

 private:
    class Parts;
    void build();
    QWidget* makeSource();
    void connectViews();
    void specChanged();
    void askSoon();
    void ask();
    void askDataset();
    void askSteps();
    void takeDataset(Result<values::DatasetReply> reply);
    void takeSteps(Result<values::StepsReply> reply);
    void showState();

    std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::gui
