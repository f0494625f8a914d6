#pragma once
// `millrace watch`: shows one run with its progress, figures, a chart and its last log lines.
// Several runs appear as a list above, with one of them selected.
#include <string>
#include <vector>

#include "app/tui/live_loop.h"

namespace millrace::tui {

class WatchView final : public View {
 public:
    explicit WatchView(std::vector<std::string> runIds) : runIds_(std::move(runIds)) {}
    void draw(CellGrid& grid, const session::LiveModel& model, std::int64_t nowMs) override;
    bool press(const KeyPress& key, const session::LiveModel& model) override;

 private:
    const session::LiveRun* chosen(const session::LiveModel& model) const;
    void drawBar(CellGrid& grid, const session::LiveRun* run, const session::LiveModel& model,
                 std::int64_t nowMs) const;
    int drawList(CellGrid& grid, int y, const session::LiveModel& model) const;
    void drawFooter(CellGrid& grid, const session::LiveModel& model, std::int64_t nowMs) const;

    std::vector<std::string> runIds_;
    std::size_t chosen_ = 0;
    std::size_t metric_ = 0, numMetrics_ = 1;  ///< selected row, drawn in the chart; the number of
                                               ///< rows
    bool hasChosen_ = false;  ///< by a key: otherwise the view follows the active run
};

/// Draws the last row: the connection's trouble if it has any, else `keys`.
void drawStatusRow(CellGrid& grid, const session::LiveModel& model, std::int64_t nowMs,
                   std::string_view keys);

}  // namespace millrace::tui
