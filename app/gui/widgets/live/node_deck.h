#pragma once
// NodeDeck: the cards of all machines, in as many columns as fit; many machines start collapsed.
//
// Threads: the GUI thread. Owns: the cards, not the model.
#include <QScrollArea>
#include <QSettings>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "app/gui/models/live/node_model.h"

namespace millrace::gui {

class NodeCard;

class NodeDeck final : public QScrollArea {
    Q_OBJECT

 public:
    /// More machines than this start collapsed.
    static constexpr int kNumOpenMax = 3;

    explicit NodeDeck(const NodeModel& model, QWidget* parent = nullptr);

    NodeCard* card(const std::string& node) const;
    int numColumns() const;
    void setAllOpen(bool isOpen);

    void saveState(QSettings& settings) const;
    void restoreState(QSettings& settings);

 protected:
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    void rebuild();
    void refreshRows(int first, int last);
    void addCard(const std::string& node);
    void arrange();
    bool isOpenAtFirst(const std::string& node) const;

    const NodeModel& model_;
    QWidget* page_;
    std::map<std::string, NodeCard*> cards_;
    std::set<std::string> opened_, closed_;  ///< by the user
    bool isArranging_ = false;
};

}  // namespace millrace::gui
