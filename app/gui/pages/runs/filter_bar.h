#pragma once
// FilterBar: the line above the table of runs: the filter text, states, and the number of matches.
//
// Plain words are applied at once; the daemon parses an expression of the filter grammar, and its
// error is shown below the line at its position. Keys: Escape clears or goes to the table, Down
// goes to the table, Ctrl+Space completes, Alt+Up and Alt+Down go through the last filters.
// Threads: the GUI thread.
#include <QSettings>
#include <QStringList>
#include <QStringListModel>
#include <QWidget>
#include <map>
#include <set>
#include <vector>

#include "app/gui/models/runs/filter_text.h"
#include "backend/values/run_state.h"

class QCompleter;
class QHBoxLayout;
class QLabel;
class QToolButton;

namespace millrace::gui {

class MessageStrip;
class SearchField;

class FilterBar final : public QWidget {
    Q_OBJECT

 public:
    explicit FilterBar(QWidget* parent);

    QString text() const;
    void setText(const QString& text);
    std::set<values::RunState> states() const;
    bool isDeletedShown() const;
    void setDeletedShown(bool isShown);
    void clearAll();
    void focusLine();

    /// Sets the names to complete; requested when the user types.
    void setNames(FilterNames names) { names_ = std::move(names); }
    /// The number of runs in each state, for the chips.
    void setCounts(const std::map<values::RunState, int>& counts);
    /// "37 of 10,000 runs".
    void setMatches(int numMatching, int numRuns);
    /// `column` from 1; 0: no position.
    void setError(const QString& sentence, int column);
    void clearError();
    QString error() const;
    /// Adds the text to the history.
    void remember();
    QStringList history() const { return history_; }
    QHBoxLayout* tools() const { return tools_; }

    void save(QSettings& settings) const;
    void restore(QSettings& settings);

 Q_SIGNALS:
    void namesNeeded();
    void textChanged(const QString& text);
    void statesChanged();
    void deletedChanged(bool isShown);
    void leftToRows();

 protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    struct Chip {
        QToolButton* button;
        QString word;
        std::set<values::RunState> states;
    };
    void buildLine();
    void buildChips();
    void addChip(const QString& word, std::set<values::RunState> states);
    void buildCompleter();
    void complete(bool isAsked);
    void insertCompletion(const QString& candidate);
    void recall(int step);
    bool takeKey(int key, Qt::KeyboardModifiers modifiers);

    SearchField* line_ = nullptr;
    QHBoxLayout *chipRow_ = nullptr, *tools_ = nullptr;
    QLabel* matches_ = nullptr;
    QToolButton* deleted_ = nullptr;
    MessageStrip* error_ = nullptr;
    std::vector<Chip> chips_;
    QCompleter* completer_ = nullptr;
    QStringListModel candidates_;
    FilterCompletion completion_;
    FilterNames names_;
    QStringList history_;
    int historyPlace_ = -1;
    QString draft_;
};

}  // namespace millrace::gui
