#pragma once
// MetricPicker: selects metrics to draw: a pop-up list with a search.
//
// Keys: type to search, Down into the list, Space selects, Escape closes. Threads: the GUI thread.
#include <QFrame>
#include <string>
#include <vector>

class QListWidget;

namespace millrace::gui {

class SearchField;

class MetricPicker final : public QFrame {
    Q_OBJECT

 public:
    MetricPicker(const std::vector<std::string>& offered, const std::vector<std::string>& chosen,
                 QWidget* parent);
    void setSearch(const QString& text);
    /// Shows it below the button, fully on its screen; deleted when closed.
    void openBelow(const QWidget& button);

 Q_SIGNALS:
    void changed(const std::vector<std::string>& chosen);

 private:
    void search(const QString& text);
    void toggle();

    std::vector<std::string> chosen_;
    SearchField* search_;
    QListWidget* list_;
};

}  // namespace millrace::gui
