#pragma once
// The lower half of the Data page: sample rows before and after a step of the recipe, side by side.
//
// Shows a StepsReply and emits changed() when it needs other rows; it makes no requests. Threads:
// the GUI thread.
#include <QWidget>
#include <memory>

#include "app/gui/models/data/sample_model.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QListView;
class QSettings;
class QSpinBox;
class QSplitter;
class QToolButton;

namespace millrace::gui {

class DataTable;
class EmptyState;
class MessageStrip;

class StepsView final : public QWidget {
    Q_OBJECT

 public:
    /// The rows to show, and of which variation.
    struct Wish {
        QString variation;  ///< "": the base
        int rows = 50;
        std::int64_t split = 0, firstRow = 0;
    };
    explicit StepsView(QWidget* parent = nullptr);

    void setVariations(const QStringList& names);
    Wish wish() const;
    void setReply(const values::StepsReply& reply);
    /// Shows a reason instead of rows.
    void setProblem(const QString& title, const QString& sentence);
    /// Shows a sentence above the present rows (old ones may stay).
    void setError(const QString& sentence);
    void setBusy(bool isBusy);

    void choose(int step);
    int current() const { return current_; }
    int numSteps() const { return steps_.rowCount(); }
    void stepBy(int count) { choose(current_ + count); }
    void anotherSample();
    void copy();
    bool isComparingWithDataset() const;

    DataTable* beforeTable() const { return beforeTable_; }
    QListView* list() const { return list_; }
    const QLabel* summary() const { return summary_; }
    void saveState(QSettings& settings) const;
    void restoreState(QSettings& settings);

 Q_SIGNALS:
    void changed();  ///< wish() has changed
    void copied(int numRows);

 private:
    QWidget* makeHeader();
    QWidget* makeBody();
    QWidget* makeComparison(QWidget* parent);
    QWidget* makeSide(SampleModel& model, QLabel*& title, DataTable*& table);
    QSpinBox* makeNumber(const QString& caption, const QString& toolTip, QWidget* row);
    void connectTables();
    void compare();
    int firstWithChange() const;
    void showSides(const SampleComparison& comparison);
    void limitNumbers(const values::StepsReply& reply);

    values::StepsReply reply_;
    SampleStepsModel steps_;
    SampleModel before_, after_;
    int current_ = -1;
    bool isFilling_ = false;
    QComboBox *variation_ = nullptr, *rows_ = nullptr, *against_ = nullptr;
    QSpinBox *split_ = nullptr, *firstRow_ = nullptr;
    QCheckBox* onlyChanges_ = nullptr;
    QToolButton* another_ = nullptr;
    MessageStrip* error_ = nullptr;
    QLabel *summary_ = nullptr, *splits_ = nullptr, *splitRows_ = nullptr, *beforeTitle_ = nullptr,
           *afterTitle_ = nullptr;
    QListView* list_ = nullptr;
    QSplitter* body_ = nullptr;
    QWidget* beforeSide_ = nullptr;
    DataTable *beforeTable_ = nullptr, *afterTable_ = nullptr;
    EmptyState* empty_ = nullptr;
};

}  // namespace millrace::gui
