#pragma once
// Where things stand in the list of jobs: columns, a row a job, and below it a row each of its
// ranks where they are open. Places are those of the viewport.
//
// A job of two or more ranks shows them while it goes on; those of many, and of one that has ended,
// only where somebody opened them. Threads: the GUI thread. Owns: what was opened and closed; the
// model outlives it.
#include <QFont>
#include <QPoint>
#include <QRect>
#include <QSize>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/models/live/lane_model.h"
#include "app/gui/widgets/theme.h"

namespace millrace::gui {

inline constexpr int kLanePad = kSpaceMedium;  ///< between columns

struct LaneColumns {
    int name = 0, state = 0, strip = 0, rate = 0, stall = 0, left = 0, button = 0, end = 0;
    bool hasLeft = true;

    static LaneColumns of(int width, int unit);
};

class LaneLayout {
 public:
    static constexpr std::size_t kRanksOpen = 8;  ///< more are closed until somebody opens them
    static constexpr int kStripHeight = 16, kRankStripHeight = 10;

    explicit LaneLayout(const LaneModel& model) : model_(model) {}

    /// The list has changed, or the font: heights are counted anew. True where they are others.
    bool arrange(const QFont& font);
    void setView(const QSize& size, int scrolled);

    static bool hasRanks(const LaneState& lane) { return lane.ranks.size() > 1; }
    bool isOpen(const LaneState& lane) const;
    /// Of jobs with ranks; arrange() follows.
    void setOpen(const LaneState& lane, bool isOpen) { chosen_[lane.run.id] = isOpen; }

    const LaneColumns& columns() const { return columns_; }
    int headerHeight() const { return headerHeight_; }
    int footHeight() const { return footHeight_; }
    int rowHeight() const { return rowHeight_; }
    /// Of all rows, and of those before one.
    int height() const { return tops_.empty() ? 0 : tops_.back(); }
    int topOf(int row) const { return tops_[static_cast<std::size_t>(row)]; }

    /// The job's own row, and with its ranks.
    QRect rowRect(int row) const;
    QRect wholeRect(int row) const;
    QRect rankRect(int row, int place) const;
    QRect stripRect(int row) const;
    QRect rankStripRect(int row, int place) const;
    QRect buttonRect(int row) const;
    /// What opens and closes its ranks; empty where there are none.
    QRect foldRect(int row) const;

    int rowAt(const QPoint& position) const;  ///< -1: none
    /// The place of a rank among its job's, where one is there.
    std::optional<int> rankAt(int row, const QPoint& position) const;

 private:
    const LaneModel& model_;
    std::map<std::string, bool> chosen_;
    std::vector<int> tops_;  ///< of each row, and behind the last one
    LaneColumns columns_;
    QSize size_;
    int scrolled_ = 0, unit_ = 8;
    int headerHeight_ = 0, footHeight_ = 0, rowHeight_ = 1, rankHeight_ = 1;
};

}  // namespace millrace::gui
